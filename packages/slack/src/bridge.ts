export type { SlackBridgeApi } from './api.ts'
export { bridgeChannel } from './config.ts'
export { type SlackConnection, type SlackConnectionOptions, slackConnection } from './connection.ts'
