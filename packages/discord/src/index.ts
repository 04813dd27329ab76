export {
  type DiscordClient,
  type DiscordFile,
  type DiscordRequest,
  type DiscordResponse,
  type DiscordRest,
  discordRestOptions,
} from './api.ts'
export { type DiscordChannel, type DiscordChannelOptions, discordChannel } from './channel.ts'
export { DiscordError, type DiscordErrorType } from './error.ts'
export { type DiscordSinkOptions, discordSink } from './sink.ts'
