/** A message that is answered: its key, and the words that are shown of it. */
export interface BaileysQuoted {
  /** Names the message, as WhatsApp does; of a group's with who wrote it. */
  readonly key: { remoteJid: string; fromMe: boolean; id: string; participant?: string }
  readonly message: { conversation: string }
}

/** What is sent, in Baileys' own names: a text or an edit, a removal, a reaction, a file. */
export type BaileysContent =
  | { text: string; linkPreview: null; edit?: BaileysQuoted['key'] }
  | { delete: BaileysQuoted['key'] }
  | { react: { text: string; key: BaileysQuoted['key'] } }
  | { document: Buffer; fileName: string; mimetype: string; caption: string }

/** How it is sent. */
export interface BaileysSendOptions {
  /** The message's own id. Who has one of that id already takes no other. */
  messageId?: string
  quoted?: BaileysQuoted
}

/** What a socket tells of, as far as it is of interest. */
export interface BaileysEvents {
  /** `notify`: just written. `append`: of before, or by oneself. */
  'messages.upsert': { readonly messages: readonly unknown[]; readonly type: string }
  'messages.update': readonly unknown[]
}

/** What WhatsApp's server says to a message that it took. */
export interface BaileysAck {
  /** `id` is the message's; `t` when it was taken, by the server's clock, in s since the epoch; `error` why it was not. */
  readonly attrs: Readonly<Record<string, string>>
}

/** The part of a Baileys socket that writes: what `makeWASocket()` gives. After a reconnect it is another one. */
export interface BaileysSocket {
  sendMessage(jid: string, content: BaileysContent, options?: BaileysSendOptions): Promise<unknown>
  sendPresenceUpdate(type: 'composing' | 'paused', jid?: string): Promise<void>
  readMessages(keys: BaileysQuoted['key'][]): Promise<void>
  readonly ev: {
    on<E extends keyof BaileysEvents>(event: E, listener: (told: BaileysEvents[E]) => void): void
    off<E extends keyof BaileysEvents>(event: E, listener: (told: BaileysEvents[E]) => void): void
  }
  /** Frames of the wire. Without it the time of a post is the computer's, not WhatsApp's. */
  readonly ws?:
    | {
        on(event: 'CB:ack,class:message', listener: (ack: BaileysAck) => void): unknown
        off(event: 'CB:ack,class:message', listener: (ack: BaileysAck) => void): unknown
      }
    | undefined
  /** What the login knows of people's numbers and LIDs. Without it only what messages tell is known. */
  readonly signalRepository?: { readonly lidMapping: { getPNForLID(lid: string): Promise<string | null> } } | undefined
  readonly user?: { readonly id: string; readonly lid?: string } | undefined
}

/** A socket, or what gives the one of the moment, where the host connects again. */
export type BaileysSource = BaileysSocket | (() => BaileysSocket | undefined)
