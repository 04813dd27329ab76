export type { BaileysSocket } from './baileys/api.ts'
export {
  type BaileysChannel,
  type BaileysChannelOptions,
  type BaileysSinkOptions,
  baileysChannel,
  baileysSink,
} from './baileys/channel.ts'
export {
  type CloudClient,
  type CloudClientOptions,
  type CloudMedia,
  type CloudMessage,
  type CloudPosted,
  createCloudClient,
} from './cloud/api.ts'
export {
  type WhatsAppChannel,
  type WhatsAppChannelOptions,
  type WhatsAppSinkOptions,
  whatsappChannel,
  whatsappSink,
} from './cloud/channel.ts'
export { CloudError, WhatsAppError, type WhatsAppErrorType } from './error.ts'
