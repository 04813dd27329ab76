import type { Chat } from '@reply/sink'

/** A quoted message: its key, and the text shown in the quote. */
export interface BaileysQuoted {
  /** WhatsApp's message key. In groups it includes the author. */
  readonly key: { remoteJid: string; fromMe: boolean; id: string; participant?: string }
  /** The text that the quote shows. */
  readonly message: { conversation: string }
}

/** Content to send, under Baileys' names: a text or an edit, a removal, a reaction, a file. */
export type BaileysContent =
  | { text: string; linkPreview: null; edit?: BaileysQuoted['key']; mentions?: string[] }
  | { delete: BaileysQuoted['key'] }
  | { react: { text: string; key: BaileysQuoted['key'] } }
  | { document: Buffer; fileName: string; mimetype: string; caption: string }
  | { image: Buffer; mimetype: string; caption: string; width: number; height: number }

/** Options of `sendMessage`. */
export interface BaileysSendOptions {
  /** The message's id. Receivers ignore a second message with the same id. */
  messageId?: string
  /** The message to reply to. */
  quoted?: BaileysQuoted
}

/** The socket events that are used. */
export interface BaileysEvents {
  /** `notify`: new messages. `append`: those from while the socket was away, and the account's own. */
  'messages.upsert': { readonly messages: readonly unknown[]; readonly type: string }
  /** Messages that changed: edited, revoked, or refused by WhatsApp. */
  'messages.update': readonly unknown[]
  /** The connection opened, or closed for good. */
  'connection.update': { readonly connection?: string | undefined }
}

/** The server's acknowledgement of a message. */
export interface BaileysAck {
  /**
   * `id`: the message's id. `t`: when the server accepted it, by its clock, in s since the epoch. `error`: the code of a
   * refusal.
   */
  readonly attrs: Readonly<Record<string, string>>
}

/** A member of a group, by Baileys' `GroupParticipant`. */
export interface BaileysMember {
  /** The member's id: a number or a LID. */
  readonly id: string
  /** The member's LID, if known. */
  readonly lid?: string | undefined
  /** The member's number, if known. */
  readonly phoneNumber?: string | undefined
  /** Set for those who may delete other people's messages. */
  readonly admin?: 'admin' | 'superadmin' | null | undefined
}

/** The part of a Baileys socket, from `makeWASocket()`, that is used. A reconnect needs a new socket. */
export interface BaileysSocket {
  /** Sends to a person or group, by its JID. */
  sendMessage(jid: string, content: BaileysContent, options?: BaileysSendOptions): Promise<unknown>
  /** Shows or withdraws "typing". */
  sendPresenceUpdate(type: 'composing' | 'paused', jid?: string): Promise<void>
  /** Marks messages as read. */
  readMessages(keys: BaileysQuoted['key'][]): Promise<void>
  /** Reads who is in a group. Without it, an administrator's removal of the account's messages is not noticed. */
  groupMetadata?(jid: string): Promise<{ readonly participants: readonly BaileysMember[] }>
  /** The socket's events. */
  readonly ev: {
    on<E extends keyof BaileysEvents>(event: E, listener: (payload: BaileysEvents[E]) => void): void
    off<E extends keyof BaileysEvents>(event: E, listener: (payload: BaileysEvents[E]) => void): void
  }
  /** Raw frames. `sendMessage` resolves once its bytes are written, and only these confirm that WhatsApp has the message. */
  readonly ws: {
    on(event: 'CB:ack,class:message', listener: (ack: BaileysAck) => void): unknown
    off(event: 'CB:ack,class:message', listener: (ack: BaileysAck) => void): unknown
  }
  /** The login's mapping of LIDs to phone numbers. Without it, only mappings found in messages are known. */
  readonly signalRepository?: { readonly lidMapping: { getPNForLID(lid: string): Promise<string | null> } } | undefined
  /** The account that the socket is logged in with. Absent before the login. */
  readonly user?: { readonly id: string; readonly lid?: string } | undefined
}

/** A socket, or a function that returns the current one, for hosts that reconnect. */
export type BaileysSource = BaileysSocket | (() => BaileysSocket | undefined)

/** Returns the id of a message's ref: `id`, or `id/author` for other people's messages, because quoting needs the author. */
export function refIdOf({ id, fromMe, participant, remoteJid }: BaileysQuoted['key']): string {
  return fromMe ? id : `${id}/${participant ?? remoteJid}`
}

/** Returns the key of a message from the id of its ref, for messages that are not in memory, for example after a restart. */
export function keyOfRefId(ref: string, jid: string): BaileysQuoted['key'] {
  const [id = ref, author] = ref.split('/')
  if (author === undefined) return { remoteJid: jid, fromMe: true, id }
  // The person may have used another of their ids than the chat's.
  return isPerson(jid)
    ? { remoteJid: author, fromMe: false, id }
    : { remoteJid: jid, fromMe: false, id, participant: author }
}

/**
 * Returns the message as a quote in that chat. Another `remoteJid` than the chat's would make it a quote from another chat
 * (Baileys' `generateWAMessageFromContent`). The author keeps the id that WhatsApp used.
 */
export function quotableIn(jid: string, { key, message }: BaileysQuoted): BaileysQuoted {
  if (key.fromMe) return { key, message }
  return { key: { ...key, remoteJid: jid, participant: key.participant ?? key.remoteJid }, message }
}

/** Returns the chat with that id: private for a person's id, shared for all others. */
export function chatOf(jid: string): Chat {
  return { id: jid, kind: isPerson(jid) ? 'private' : 'shared' }
}

/** Whether the id is a person's. False for groups, channels and stories. */
export function isPerson(jid: string): boolean {
  return isNumber(jid) || isLid(jid)
}

/**
 * Returns the id of a person instead of one of their devices, in its current form (Baileys' `cleanMessage`). Older ids end
 * in `@c.us`.
 */
export function withoutDevice(jid: string): string {
  return jid
    .replace(/^([^@:_]+)[^@]*@/, '$1@')
    .replace(/@(?:c\.us|hosted)$/, '@s.whatsapp.net')
    .replace(/@hosted\.lid$/, '@lid')
}

/** Whether the id is made of a phone number. */
export function isNumber(jid: string): boolean {
  return jid.endsWith('@s.whatsapp.net')
}

/** Whether the id is a LID, WhatsApp's id of a person without their number. */
export function isLid(jid: string): boolean {
  return jid.endsWith('@lid')
}
