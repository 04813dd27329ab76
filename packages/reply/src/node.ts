export { isInside, kindOf } from './files/inside.ts'
export { type FileRights, readReplyFile } from './files/read-file.ts'
