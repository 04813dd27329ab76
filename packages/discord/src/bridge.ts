export type { DiscordBridgeRest } from './api.ts'
export { bridgeChannel } from './config.ts'
export { type DiscordConnection, type DiscordConnectionOptions, discordConnection } from './connection.ts'
