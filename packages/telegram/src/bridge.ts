export type { TelegramBridgeApi } from './api.ts'
export { bridgeChannel } from './config.ts'
export { type TelegramConnection, type TelegramConnectionOptions, telegramConnection } from './connection.ts'
