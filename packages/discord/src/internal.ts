export { discordLimits } from './limits.ts'
export { createDiscordPort, type DiscordThread } from './port.ts'
export { escapeDiscord, renderDiscord } from './render.ts'
export { discordPolicy } from './sink.ts'
