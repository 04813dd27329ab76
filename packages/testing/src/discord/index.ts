export type {
  DiscordComponent,
  DiscordEmbed,
  DiscordOption,
  DiscordUser,
  FakeDiscordChannel,
} from './channel.ts'
export type { DiscordFault } from './fault.ts'
export type { DiscordInteraction } from './interaction.ts'
export type { DiscordBucket } from './limits.ts'
export type { DiscordLink } from './markdown.ts'
export type { DiscordField, DiscordModal } from './modal.ts'
export type { DiscordFrom } from './person.ts'
export type { DiscordCallName } from './routes.ts'
export type { DiscordMessage } from './screen.ts'
export type { DiscordCall } from './server.ts'
export { type DiscordOptions, type FakeDiscord, startDiscord } from './start.ts'
