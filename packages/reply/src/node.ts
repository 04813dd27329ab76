export { isInside, kindOf } from './files/inside.ts'
export { codeOf, type OpenedInside, openInside } from './files/open-inside.ts'
export { type FileRights, readReplyFile } from './files/read-file.ts'
