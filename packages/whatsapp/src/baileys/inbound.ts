import type { Inbound } from '@reply/sink'
import { z } from 'zod'
import type { BaileysQuoted } from './api.ts'
import { chatOf, refOf } from './line.ts'

/** A text as it came, before anybody can answer it, with what it is quoted by. */
export interface BaileysHeard extends Omit<Extract<Inbound, { type: 'text' }>, 'answer'> {
  readonly quoted: BaileysQuoted
}

/** What WhatsApp refused after it had been sent, or what was taken back: its stub type in the wire's own numbers. */
const revoked = 1
const failedStatus = 0

const key = z.object({
  remoteJid: z.string(),
  id: z.string(),
  fromMe: z.boolean().nullish(),
  participant: z.string().nullish(),
})

const cited = z.object({ stanzaId: z.string().nullish(), participant: z.string().nullish() }).nullish()
const captioned = z.object({ caption: z.string().nullish(), contextInfo: cited }).nullish()

const content = z.object({
  conversation: z.string().nullish(),
  extendedTextMessage: z.object({ text: z.string().nullish(), contextInfo: cited }).nullish(),
  imageMessage: captioned,
  videoMessage: captioned,
  documentMessage: captioned,
})

/** What it stands in where messages disappear, or a document has words. */
const wrapped = content.extend({
  ephemeralMessage: z.object({ message: content.nullish() }).nullish(),
  documentWithCaptionMessage: z.object({ message: content.nullish() }).nullish(),
})

const message = z.object({
  key,
  pushName: z.string().nullish(),
  /** Seconds; a number, or a Long of protobufjs. */
  messageTimestamp: z.coerce.number().optional().catch(undefined),
  message: wrapped.nullish(),
})

const update = z.object({
  key,
  update: z.object({
    messageStubType: z.number().nullish(),
    status: z.number().nullish(),
    messageStubParameters: z.array(z.unknown()).nullish(),
  }),
})

/** Who is written to here are no people. */
const noChat = /@(?:broadcast|newsletter)$/

/**
 * A message of `messages.upsert`. `own` are the ids of this account. Undefined for what is no message; without `heard` for
 * what a channel does not hear: one's own, pictures without words, reactions, channels and stories.
 */
export function toHeard(
  value: unknown,
  own: readonly string[],
): { readonly id: string; readonly heard: BaileysHeard | undefined } | undefined {
  const { data } = message.safeParse(value)
  if (!data) return undefined
  const { remoteJid: jid, id, participant, fromMe } = data.key
  const name = `${jid}/${id}/${participant ?? ''}`
  const said = saidIn(data.message)
  if (fromMe || noChat.test(jid) || !said || said.text === '') return { id: name, heard: undefined }
  const author = participant || jid
  const quotedKey = { remoteJid: jid, fromMe: false, id, ...(participant && { participant }) }
  const { text } = said
  const { stanzaId, participant: of } = said.contextInfo ?? {}
  const isOwn = of !== undefined && of !== null && own.includes(of)
  const cited = stanzaId
    ? { replyTo: { id: refOf({ remoteJid: jid, id: stanzaId, fromMe: isOwn, ...(of && { participant: of }) }) } }
    : {}
  return {
    id: name,
    heard: {
      type: 'text',
      chat: chatOf(jid),
      actor: { id: author, name: data.pushName || author },
      text,
      messageRef: { id: refOf(quotedKey), postedAt: data.messageTimestamp && data.messageTimestamp * 1000 },
      ...cited,
      isCommand: /^\/\w/.test(text),
      quoted: { key: quotedKey, message: { conversation: text } },
    },
  }
}

/** The id of a message that somebody took back for everyone. */
export function toRevoked(value: unknown): string | undefined {
  const { data } = update.safeParse(value)
  return data?.update.messageStubType === revoked ? data.key.id : undefined
}

/** A message of ours that WhatsApp refused after it was sent. */
export function toFailed(
  value: unknown,
): { readonly jid: string; readonly id: string; readonly reason: string } | undefined {
  const { data } = update.safeParse(value)
  if (data?.update.status !== failedStatus || !data.key.fromMe) return undefined
  return { jid: data.key.remoteJid, id: data.key.id, reason: (data.update.messageStubParameters ?? []).join(' ') }
}

function saidIn(
  given: z.infer<typeof message>['message'],
): { text: string; contextInfo: z.infer<typeof cited> } | undefined {
  const inner = given?.ephemeralMessage?.message ?? given?.documentWithCaptionMessage?.message ?? given
  if (!inner) return undefined
  if (inner.conversation) return { text: inner.conversation, contextInfo: undefined }
  const { extendedTextMessage: long } = inner
  if (long?.text) return { text: long.text, contextInfo: long.contextInfo }
  const file = inner.imageMessage ?? inner.videoMessage ?? inner.documentMessage
  return file?.caption ? { text: file.caption, contextInfo: file.contextInfo } : undefined
}
