export { type FileRights, readReplyFile } from './files/read-file.ts'
