export type { BaileysSocket } from './baileys/api.ts'
export { type BaileysChannel, type BaileysChannelOptions, baileysChannel } from './baileys/channel.ts'
export { type BaileysSinkOptions, baileysSink } from './baileys/sink.ts'
export {
  type CloudClient,
  type CloudClientOptions,
  type CloudMedia,
  type CloudMessage,
  type CloudPosted,
  createCloudClient,
} from './cloud/api.ts'
export { type WhatsAppChannel, type WhatsAppChannelOptions, whatsappChannel } from './cloud/channel.ts'
export { type WhatsAppSinkOptions, whatsappSink } from './cloud/sink.ts'
export { CloudError, WhatsAppError, type WhatsAppErrorType } from './error.ts'
