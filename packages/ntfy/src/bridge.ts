export { noticeChannel } from './config.ts'
