export type { CloudKind, WhatsAppButton } from './cloud/content.ts'
export type { CloudFault } from './cloud/fault.ts'
export type { WhatsAppWebhookCall } from './cloud/hook.ts'
export type { WhatsAppPeople, WhatsAppSay } from './cloud/person.ts'
export type { WhatsAppCall } from './cloud/server.ts'
export { type FakeWhatsApp, startWhatsApp, type WhatsAppMessage, type WhatsAppOptions } from './cloud/start.ts'
export type { WhatsAppEntity } from './formatted.ts'
export type { SocketFault } from './socket/fault.ts'
export type { BaileysCall, FakeSocket, FakeSocketEvents } from './socket/socket.ts'
export type { BaileysSay } from './socket/start.ts'
export {
  type BaileysMessage,
  type BaileysOptions,
  createFakeBaileys,
  type FakeBaileys,
} from './socket/start.ts'
