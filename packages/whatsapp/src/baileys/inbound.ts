import type { Inbound, InboundFile } from '@reply/sink'
import { jsonOf } from '@reply/sink/internal'
import * as z from 'zod'
import { type BaileysQuoted, chatOf, isPerson, refOf, withoutDevice } from './api.ts'
import type { Identities } from './socket.ts'

type Text = Omit<Extract<Inbound, { type: 'text' }>, 'answer'>

/** A parsed text, without the `answer` function yet, with what quoting it needs. */
export interface BaileysReceived extends Omit<Text, 'chat' | 'actor'> {
  readonly quoted: BaileysQuoted
  readonly jid: string
  readonly author: Author
}

/** The author, by the ids in the message. */
export interface Author {
  /** Undefined for a group message without a participant. */
  readonly jid: string | undefined
  readonly alt: string | undefined
  readonly name: string | undefined
}

/** Protocol numbers: the stub type of a message deleted for everyone, and the status of one refused after sending. */
const revoked = 1
const failedStatus = 0

const key = z.object({
  remoteJid: z.string(),
  id: z.string(),
  fromMe: z.boolean().nullish(),
  participant: z.string().nullish(),
  participantAlt: z.string().nullish(),
  remoteJidAlt: z.string().nullish(),
})

/** In seconds: a number, or protobufjs's Long. */
const time = z.coerce.number().positive().optional().catch(undefined)

/** A file's key: bytes, or their base64 after a message was stored as JSON. */
const fileKey = z
  .union([z.instanceof(Uint8Array), z.string()])
  .nullish()
  .catch(undefined)

/** What a message says of a file, under WhatsApp's names. */
const fileFields = {
  mimetype: z.string().nullish(),
  fileName: z.string().nullish(),
  fileLength: z.coerce.number().nonnegative().nullish().catch(undefined),
  mediaKey: fileKey,
  directPath: z.string().nullish(),
  url: z.string().nullish(),
}

const cited = z
  .object({
    stanzaId: z.string().nullish(),
    participant: z.string().nullish(),
    isForwarded: z.boolean().nullish(),
    forwardingScore: z.number().nullish(),
    /** The people that the text mentions. */
    mentionedJid: z.array(z.string()).nullish().catch(undefined),
  })
  .nullish()

const captioned = z
  .object({
    caption: z.string().nullish(),
    contextInfo: cited,
    ...fileFields,
  })
  .nullish()

const content = z.object({
  conversation: z.string().nullish(),
  extendedTextMessage: z.object({ text: z.string().nullish(), contextInfo: cited }).nullish(),
  imageMessage: captioned,
  videoMessage: captioned,
  documentMessage: captioned,
  audioMessage: captioned,
  stickerMessage: captioned,
})

const message = z.object({
  key,
  pushName: z.string().nullish(),
  messageTimestamp: time,
  message: z.looseObject({}).nullish(),
})

const update = z.object({
  key,
  update: z.object({
    messageStubType: z.number().nullish(),
    status: z.number().nullish(),
    messageStubParameters: z.array(z.unknown()).nullish(),
  }),
})

/** Ids of stories and channels. */
const noChat = /@(?:broadcast|newsletter)$/

/** Ids of bots, for example Meta AI. */
const bot = /@bot$/

/** What reading a message needs. */
export interface Reading {
  /** The ids of this account. */
  readonly own: readonly string[]
  /** Takes a message's content out of its wrappers: Baileys' `normalizeMessageContent`. */
  readonly unwrap: Unwrap
}

/** Baileys' `normalizeMessageContent`. */
export type Unwrap = (content: object | null | undefined) => object | undefined

/** False for a message whose text is not in a wrapper, as most are. */
export function isWrapped(value: unknown): boolean {
  const { data } = message.safeParse(value)
  return (
    data?.message !== undefined && data.message !== null && saidIn(content.safeParse(data.message).data) === undefined
  )
}

/**
 * Reads a message of `messages.upsert`. Returns undefined if it isn't a message, and no `received` for what a channel
 * ignores: the account's own messages, bots, pictures without a caption, reactions, channels and stories.
 */
export function toReceived(
  value: unknown,
  { own, unwrap }: Reading,
): { readonly id: string; readonly received: BaileysReceived | undefined } | undefined {
  const { data } = message.safeParse(value)
  const inner = content.nullish().safeParse(data && unwrap(data.message))
  if (!data || !inner.success) return undefined
  const files = filesIn(inner.data ?? undefined)
  const { remoteJid: jid, id, participant, fromMe, participantAlt, remoteJidAlt } = data.key
  const name = `${jid}/${id}/${participant ?? ''}`
  const said = saidIn(inner.data ?? undefined)
  const author = participant || (isPerson(jid) ? jid : undefined)
  if (fromMe || noChat.test(jid) || bot.test(author ?? jid) || !said || (said.text === '' && files.length === 0))
    return { id: name, received: undefined }
  const quotedKey = { remoteJid: jid, fromMe: false, id, ...(participant && { participant }) }
  const { stanzaId, participant: of, isForwarded, forwardingScore, mentionedJid } = said.contextInfo ?? {}
  const text = withoutOwn(said.text, own)
  const isMention = mentionedJid?.some((one) => own.includes(withoutDevice(one))) === true
  const isOwn = of !== undefined && of !== null && own.includes(withoutDevice(of))
  const cited = stanzaId
    ? {
        replyTo: { id: refOf({ remoteJid: jid, id: stanzaId, fromMe: isOwn, ...(of && { participant: of }) }) },
        ...(isOwn && { repliesToBot: true as const }),
      }
    : {}
  const passedOn = isForwarded || (forwardingScore ?? 0) > 0 ? { isForwarded: true as const } : {}
  return {
    id: name,
    received: {
      type: 'text',
      jid,
      author: {
        jid: author,
        alt: (participant ? participantAlt : remoteJidAlt) || undefined,
        name: data.pushName || undefined,
      },
      text: isMention ? text : said.text,
      ...(isMention && { isMention }),
      ...(files.length > 0 && { files }),
      messageRef: { id: refOf(quotedKey), postedAt: data.messageTimestamp && data.messageTimestamp * 1000 },
      ...cited,
      ...passedOn,
      isCommand: /^\/\w/.test(isMention ? text : said.text),
      quoted: { key: quotedKey, message: { conversation: said.text } },
    },
  }
}

/** Adds the chat and the actor, with one id per person. */
export async function placed(
  { jid, author, ...received }: BaileysReceived,
  identities: Identities,
): Promise<Text & Pick<BaileysReceived, 'quoted'>> {
  // A group message without a participant has no known author.
  const person = author.jid === undefined ? undefined : await identities.personOf(author.jid, author.alt)
  const id = person ?? jid
  const actor = { id, name: author.name ?? id, ...(person === undefined && { isAnonymous: true as const }) }
  return { ...received, chat: chatOf(isPerson(jid) ? id : jid), actor }
}

/** A message that was deleted for everyone, if its sender may do that. */
export interface Revoked {
  readonly jid: string
  readonly alt: string | undefined
  readonly id: string
  /** Set if not the account itself deleted it: the ids of a member of the group, who must be an administrator. */
  readonly by?: readonly string[] | undefined
}

/**
 * In a private chat only the account itself can delete its messages, in a group also administrators: the apps ignore
 * all others, but the socket reports every attempt, without WhatsApp's mark for the kind (`SENDER_REVOKE` and
 * `ADMIN_REVOKE` in https://wppconnect.io/wa-js/enums/whatsapp.enums.EDIT_ATTR.html).
 */
export function toRevoked(value: unknown): Revoked | undefined {
  const { data } = update.safeParse(value)
  if (data?.update.messageStubType !== revoked) return undefined
  const { remoteJid: jid, remoteJidAlt, id, fromMe, participant, participantAlt } = data.key
  const one = { jid, alt: remoteJidAlt || undefined, id }
  if (fromMe) return one
  const by = [participant, participantAlt].flatMap((member) => (member ? [withoutDevice(member)] : []))
  return by.length > 0 && !isPerson(jid) ? { ...one, by } : undefined
}

/** One of the account's messages that WhatsApp refused after sending. */
export function toFailed(
  value: unknown,
): { readonly jid: string; readonly id: string; readonly reason: string } | undefined {
  const { data } = update.safeParse(value)
  if (data?.update.status !== failedStatus || !data.key.fromMe) return undefined
  return { jid: data.key.remoteJid, id: data.key.id, reason: (data.update.messageStubParameters ?? []).join(' ') }
}

function saidIn(
  inner: z.infer<typeof content> | undefined,
): { text: string; contextInfo: z.infer<typeof cited> } | undefined {
  if (!inner) return undefined
  if (inner.conversation) return { text: inner.conversation, contextInfo: undefined }
  const { extendedTextMessage: long } = inner
  if (long?.text) return { text: long.text, contextInfo: long.contextInfo }
  const { imageMessage, videoMessage, documentMessage, audioMessage, stickerMessage } = inner
  const file = imageMessage ?? videoMessage ?? documentMessage ?? audioMessage ?? stickerMessage
  return file ? { text: file.caption ?? '', contextInfo: file.contextInfo } : undefined
}

/** A mention stands in the text as an @ and the first part of the id. */
function withoutOwn(text: string, own: readonly string[]): string {
  const cut = own.reduce((rest, jid) => rest.replaceAll(new RegExp(`@${jid.split('@')[0]}(?!\\d) ?`, 'g'), ''), text)
  return cut.trim()
}

const fileMessage = z.object(fileFields)

type FileContents = Partial<
  Readonly<Record<`${keyof typeof kinds}Message`, z.infer<typeof fileMessage> | null | undefined>>
>

/** Where a file is and how it is encrypted: what `downloadContentFromMessage` of Baileys takes. */
const fileRef = z.object({
  kind: z.enum(['document', 'image', 'video', 'audio', 'sticker']),
  mediaKey: z.string(),
  directPath: z.string().optional(),
  url: z.string().optional(),
})

/** What a file is called that has no name, and its media type if the message doesn't say. */
const kinds = {
  document: ['file', 'application/octet-stream'],
  image: ['photo.jpg', 'image/jpeg'],
  video: ['video.mp4', 'video/mp4'],
  audio: ['audio.ogg', 'audio/ogg'],
  sticker: ['sticker.webp', 'image/webp'],
} as const

/** The files of a message's content. */
function filesIn(inner: FileContents | undefined): readonly InboundFile[] {
  return Object.entries(kinds).flatMap(([kind, [name, mime]]): readonly InboundFile[] => {
    const one = inner?.[`${kind as keyof typeof kinds}Message`]
    if (!one?.mediaKey) return []
    const { mediaKey: key, directPath, url, fileName, mimetype, fileLength } = one
    const mediaKey = typeof key === 'string' ? key : Buffer.from(key).toString('base64')
    const ref = JSON.stringify({ kind, mediaKey, ...(directPath && { directPath }), ...(url && { url }) })
    return [{ ref, name: fileName || name, mime: mimetype || mime, ...(fileLength && { size: fileLength }) }]
  })
}

/** What a `ref` says. */
export type FileRef = z.infer<typeof fileRef>

/** Reads a file's `ref`. Undefined if it is another channel's. */
export function toFileRef(ref: string): FileRef | undefined {
  return fileRef.safeParse(jsonOf(new TextEncoder().encode(ref))).data
}
