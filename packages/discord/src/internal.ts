export { discordLimits } from './limits.ts'
export { createDiscordPort } from './port.ts'
export { escapeDiscord, renderDiscord } from './render.ts'
