export { DiscordError, type DiscordErrorType } from './error.ts'
