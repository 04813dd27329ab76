export {
  type Actor,
  type Answering,
  type AnswerOptions,
  answerWith,
  type Chat,
  type Delivery,
  type Inbound,
  type LedgerStore,
  type MayAnswer,
  type MessageRef,
  memoryStore,
  type Policy,
  type Running,
  type Sink,
  SinkError,
  type SinkErrorType,
  type SinkPlace,
  type Undelivered,
  type UndeliveredType,
  type WebhookAnswer,
  type WebhookRequest,
  type Words,
  words,
} from '@reply/sink'
export { fileStore } from '@reply/sink/node'
export type {
  BaileysAck,
  BaileysContent,
  BaileysEvents,
  BaileysMember,
  BaileysQuoted,
  BaileysSendOptions,
  BaileysSocket,
  BaileysSource,
} from './baileys/api.ts'
export { type BaileysChannel, type BaileysChannelOptions, baileysChannel } from './baileys/channel.ts'
export { baileysLimits } from './baileys/limits.ts'
export { type BaileysPortOptions, createBaileysPort } from './baileys/port.ts'
export { type BaileysSinkOptions, baileysSink, baileysWords } from './baileys/sink.ts'
export { bridgeChannel } from './bridge.ts'
export { type CloudClient, CloudError, type CloudMedia, type CloudMessage, type CloudPosted } from './cloud/api.ts'
export {
  type WhatsAppChannel,
  type WhatsAppChannelOptions,
  whatsappChannel,
} from './cloud/channel.ts'
export { type CloudClientOptions, createCloudClient } from './cloud/client.ts'
export { cloudLimits } from './cloud/limits.ts'
export { type CloudPortOptions, createCloudPort } from './cloud/port.ts'
export { cloudPolicy, type WhatsAppSinkOptions, whatsappSink } from './cloud/sink.ts'
export { WhatsAppError, type WhatsAppErrorOptions, type WhatsAppErrorType } from './error.ts'
export { renderWhatsApp } from './render.ts'
