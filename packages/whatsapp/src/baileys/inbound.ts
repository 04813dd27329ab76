import type { Inbound, InboundFile } from '@reply/sink'
import { jsonOf, textOfContact, textOfPlace } from '@reply/sink/internal'
import * as z from 'zod'
import { fileDefaults } from '../limits.ts'
import type { Identities } from './account-state.ts'
import { type BaileysQuoted, chatOf, isPerson, refIdOf, withoutDevice } from './api.ts'

type TextInbound = Omit<Extract<Inbound, { type: 'text' }>, 'answer'>

/** A parsed message, before its chat, its actor and its `answer` function are known. `quoted` is the message as a quote. */
export interface BaileysReceived extends Omit<TextInbound, 'chat' | 'actor'> {
  readonly quoted: BaileysQuoted
  readonly jid: string
  readonly author: MessageAuthor
}

/** The author, with the ids from the message. */
interface MessageAuthor {
  /** Undefined for a group message without a participant. */
  readonly jid: string | undefined
  /** The same person's other id, if the message has it. */
  readonly otherJid: string | undefined
  readonly name: string | undefined
}

/** Stub type of a message that was deleted for everyone. */
const deletedStubType = 1

/** Status of a message that was refused after it was sent. */
const refusedStatus = 0

const key = z.object({
  remoteJid: z.string(),
  id: z.string(),
  fromMe: z.boolean().nullish(),
  participant: z.string().nullish(),
  participantAlt: z.string().nullish(),
  remoteJidAlt: z.string().nullish(),
  /** Set by Baileys in place of the content of a view-once message, which WhatsApp gives to the phone alone. */
  isViewOnce: z.boolean().nullish(),
})

/** In seconds. A number, or protobufjs's Long. */
const time = z.coerce.number().positive().optional().catch(undefined)

/** A file's key. Bytes, or their base64 if the message was stored as JSON. */
const encryptionKey = z
  .union([z.instanceof(Uint8Array), z.string()])
  .nullish()
  .catch(undefined)

/** The fields of a file, under WhatsApp's names. */
const fileFields = {
  mimetype: z.string().nullish(),
  fileName: z.string().nullish(),
  fileLength: z.coerce.number().nonnegative().nullish().catch(undefined),
  /** The length of a recording or a video. */
  seconds: z.number().nonnegative().nullish().catch(undefined),
  mediaKey: encryptionKey,
  directPath: z.string().nullish(),
  url: z.string().nullish(),
}

const contextInfo = z
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
    contextInfo,
    ...fileFields,
  })
  .nullish()

/** Names the album of a picture or video. Read from Baileys' `proto.MessageAssociation`, where a `MEDIA_ALBUM` is 1. */
const albumInfo = z
  .object({
    messageAssociation: z.object({
      associationType: z.union([z.literal(1), z.literal('MEDIA_ALBUM')]),
      parentMessageKey: z.object({ id: z.string() }),
    }),
  })
  .nullish()
  .catch(undefined)

/** Precedes the messages of an album, which name it. */
const albumMessage = z
  .object({ expectedImageCount: z.number().nullish(), expectedVideoCount: z.number().nullish() })
  .nullish()
  .catch(undefined)

const content = z.object({
  messageContextInfo: albumInfo,
  albumMessage,
  conversation: z.string().nullish(),
  extendedTextMessage: z.object({ text: z.string().nullish(), contextInfo }).nullish(),
  imageMessage: captioned,
  videoMessage: captioned,
  /** A round video, recorded in the chat. */
  ptvMessage: captioned,
  documentMessage: captioned,
  audioMessage: captioned,
  stickerMessage: captioned,
  locationMessage: z
    .object({
      degreesLatitude: z.number(),
      degreesLongitude: z.number(),
      name: z.string().nullish(),
      address: z.string().nullish(),
      contextInfo,
    })
    .nullish()
    .catch(undefined),
  contactMessage: z
    .object({ displayName: z.string(), vcard: z.string().nullish(), contextInfo })
    .nullish()
    .catch(undefined),
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
const storyOrChannel = /@(?:broadcast|newsletter)$/

/** Ids of bots, for example Meta AI. */
const botId = /@bot$/

/** Takes a message's content out of its wrappers, like Baileys' `normalizeMessageContent`. */
export type Unwrap = (content: object | null | undefined) => object | undefined

/** Whether the message's text must be unwrapped first. Most messages have no wrapper. */
export function isWrapped(value: unknown): boolean {
  const { data } = message.safeParse(value)
  return (
    data?.message !== undefined && data.message !== null && textIn(content.safeParse(data.message).data) === undefined
  )
}

/** An album that a person begins to send. */
export interface AnnouncedAlbum {
  readonly author: string | undefined
  readonly albumID: string
  /** How many files it has. */
  readonly files: number
}

/**
 * Reads a message of `messages.upsert`. Returns undefined if it isn't one. `id` is unique within the account. `received`
 * is undefined for messages that a channel ignores: the account's own, those of bots, channels and stories, reactions, and
 * those without text and files, for example one that announces an album.
 */
export function toReceived(
  value: unknown,
  ownIds: readonly string[],
  unwrap: Unwrap,
):
  | { readonly id: string; readonly received: BaileysReceived | undefined; readonly announced?: AnnouncedAlbum }
  | undefined {
  const { data } = message.safeParse(value)
  const inner = content.nullish().safeParse(data && unwrap(data.message))
  if (!data || !inner.success) return undefined
  const { remoteJid: jid, id: messageId, participant, fromMe, participantAlt, remoteJidAlt, isViewOnce } = data.key
  const files = isViewOnce && !inner.data ? [viewOnce] : filesIn(inner.data ?? undefined)
  // Its wrapper may have it.
  const { messageContextInfo = inner.data?.messageContextInfo } = content.partial().safeParse(data.message).data ?? {}
  const albumID = messageContextInfo?.messageAssociation.parentMessageKey.id
  const id = `${jid}/${messageId}/${participant ?? ''}`
  const written =
    textIn(inner.data ?? undefined) ?? (files.length > 0 ? { text: '', contextInfo: undefined } : undefined)
  const authorJid = participant || (isPerson(jid) ? jid : undefined)
  if (inner.data?.albumMessage) {
    const { expectedImageCount, expectedVideoCount } = inner.data.albumMessage
    const announced = {
      author: authorJid,
      albumID: messageId,
      files: (expectedImageCount ?? 0) + (expectedVideoCount ?? 0),
    }
    return { id, received: undefined, announced }
  }
  const isIgnored = fromMe || storyOrChannel.test(jid) || botId.test(authorJid ?? jid)
  if (isIgnored || !written || (written.text === '' && files.length === 0)) return { id, received: undefined }
  const quotedKey = { remoteJid: jid, fromMe: false, id: messageId, ...(participant && { participant }) }
  const { stanzaId, participant: repliedTo, isForwarded, forwardingScore, mentionedJid } = written.contextInfo ?? {}
  const isMention = mentionedJid?.some((mentioned) => ownIds.includes(withoutDevice(mentioned))) === true
  const text = isMention ? withoutOwnMentions(written.text, ownIds) : written.text
  const repliesToBot = repliedTo !== undefined && repliedTo !== null && ownIds.includes(withoutDevice(repliedTo))
  const repliedKey = stanzaId && {
    remoteJid: jid,
    id: stanzaId,
    fromMe: repliesToBot,
    ...(repliedTo && { participant: repliedTo }),
  }
  return {
    id,
    received: {
      type: 'text',
      jid,
      author: {
        jid: authorJid,
        otherJid: (participant ? participantAlt : remoteJidAlt) || undefined,
        name: data.pushName || undefined,
      },
      text,
      ...(isMention && { isMention }),
      ...(files.length > 0 && { files, ...(albumID !== undefined && { albumID }) }),
      messageRef: { id: refIdOf(quotedKey), postedAt: data.messageTimestamp && data.messageTimestamp * 1000 },
      ...(repliedKey && { replyTo: { id: refIdOf(repliedKey) }, ...(repliesToBot && { repliesToBot: true as const }) }),
      ...((isForwarded || (forwardingScore ?? 0) > 0) && { isForwarded: true as const }),
      isCommand: /^\/\w/.test(text),
      quoted: { key: quotedKey, message: { conversation: written.text } },
    },
  }
}

/**
 * Returns the message with its chat and its actor. Each person has one id, whichever of their ids the message has. The
 * actor of a group message without a known author is the group, and anonymous.
 */
export async function withChatAndActor(
  { jid, author, ...received }: BaileysReceived,
  identities: Identities,
): Promise<TextInbound & Pick<BaileysReceived, 'quoted'>> {
  // A group message without a participant has no known author.
  const personId = author.jid === undefined ? undefined : await identities.personIdOf(author.jid, author.otherJid)
  const id = personId ?? jid
  const actor = { id, name: author.name ?? id, ...(personId === undefined && { isAnonymous: true as const }) }
  return { ...received, chat: chatOf(isPerson(jid) ? id : jid), actor }
}

/** A message that was deleted for everyone. */
export interface Deletion {
  /** The chat. */
  readonly jid: string
  /** The same person's other id, if the update has it. */
  readonly otherJid: string | undefined
  readonly id: string
  /** The ids of the group's member who deleted it and must be an administrator. Undefined for the account itself. */
  readonly deletedBy?: readonly string[] | undefined
}

/**
 * Reads a deletion from an update. Returns undefined for other updates, and for deletions that the apps ignore: in a
 * private chat only the account itself can delete its messages, and in a group also administrators. The socket reports every
 * attempt, without WhatsApp's mark for the kind (`SENDER_REVOKE` and `ADMIN_REVOKE` in
 * https://wppconnect.io/wa-js/enums/whatsapp.enums.EDIT_ATTR.html).
 */
export function toDeletion(value: unknown): Deletion | undefined {
  const { data } = update.safeParse(value)
  if (data?.update.messageStubType !== deletedStubType) return undefined
  const { remoteJid: jid, remoteJidAlt, id, fromMe, participant, participantAlt } = data.key
  const deletion = { jid, otherJid: remoteJidAlt || undefined, id }
  if (fromMe) return deletion
  const deletedBy = [participant, participantAlt].flatMap((member) => (member ? [withoutDevice(member)] : []))
  return deletedBy.length > 0 && !isPerson(jid) ? { ...deletion, deletedBy } : undefined
}

/** Reads an update about one of the account's messages that WhatsApp refused after it was sent. Undefined for others. */
export function toRefusedMessage(
  value: unknown,
): { readonly jid: string; readonly id: string; readonly reason: string } | undefined {
  const { data } = update.safeParse(value)
  if (data?.update.status !== refusedStatus || !data.key.fromMe) return undefined
  return { jid: data.key.remoteJid, id: data.key.id, reason: (data.update.messageStubParameters ?? []).join(' ') }
}

/**
 * Returns the text, the caption of a file, or a shared place or contact, with the data of replies and mentions. The text is empty for
 * a file without caption. Undefined without any of them.
 */
function textIn(
  inner: z.infer<typeof content> | undefined,
): { text: string; contextInfo: z.infer<typeof contextInfo> } | undefined {
  if (!inner) return undefined
  if (inner.conversation) return { text: inner.conversation, contextInfo: undefined }
  const { extendedTextMessage: long } = inner
  if (long?.text) return { text: long.text, contextInfo: long.contextInfo }
  const { imageMessage, videoMessage, ptvMessage, documentMessage, audioMessage, stickerMessage } = inner
  const file = imageMessage ?? videoMessage ?? ptvMessage ?? documentMessage ?? audioMessage ?? stickerMessage
  if (file) return { text: file.caption ?? '', contextInfo: file.contextInfo }
  const { locationMessage: at, contactMessage: contact } = inner
  if (at) {
    const { degreesLatitude: latitude, degreesLongitude: longitude, name, address, contextInfo } = at
    return { text: textOfPlace({ latitude, longitude, name, address }), contextInfo }
  }
  if (!contact) return undefined
  // For example `TEL;waid=41310000000:+41 31 000 00 00`.
  const phones = [...(contact.vcard ?? '').matchAll(/^(?:item\d+\.)?TEL[^:\n]*:(.+)$/gm)].map(([, phone = '']) =>
    phone.trim(),
  )
  return { text: textOfContact(contact.displayName, phones), contextInfo: contact.contextInfo }
}

/** Returns the text without mentions of the account: an @ and the first part of its id. */
function withoutOwnMentions(text: string, ownIds: readonly string[]): string {
  const cut = ownIds.reduce((rest, jid) => rest.replaceAll(new RegExp(`@${jid.split('@')[0]}(?!\\d) ?`, 'g'), ''), text)
  return cut.trim()
}

const fileMessage = z.object(fileFields)

type FileKind = keyof typeof fileDefaults

type FileContents = Partial<
  Readonly<Record<`${FileKind | 'ptv'}Message`, z.infer<typeof fileMessage> | null | undefined>>
>

/** The address and the key of a file, as in Baileys' `DownloadableMessage`. */
const fileRef = z.object({
  kind: z.enum(['document', 'image', 'video', 'audio', 'sticker']),
  mediaKey: z.string(),
  directPath: z.string().optional(),
  url: z.string().optional(),
})

/** The `ref` of a file that only the phone can open. It stays in the message, so that the person is told. */
export const phoneOnlyRef = 'phone-only'

/** A view-once message. It tells nothing else. */
const viewOnce: InboundFile = { ref: phoneOnlyRef, name: 'view-once message', mime: 'application/octet-stream' }

/** Returns the files of a message's content. Those without a key, which can't be decrypted, have the `phoneOnlyRef`. */
function filesIn(inner: FileContents | undefined): readonly InboundFile[] {
  return Object.entries(fileDefaults).flatMap(([kind, { name, mime }]): readonly InboundFile[] => {
    const file = inner?.[`${kind as FileKind}Message`] ?? (kind === 'video' ? inner?.ptvMessage : undefined)
    if (!file) return []
    const { mediaKey: rawKey, directPath, url, fileName, mimetype, fileLength, seconds } = file
    const told = {
      name: fileName || name,
      mime: mimetype || mime,
      ...(fileLength && { size: fileLength }),
      ...(seconds && { seconds }),
    }
    if (!rawKey || rawKey.length === 0) return [{ ref: phoneOnlyRef, ...told }]
    const mediaKey = typeof rawKey === 'string' ? rawKey : Buffer.from(rawKey).toString('base64')
    const ref = JSON.stringify({ kind, mediaKey, ...(directPath && { directPath }), ...(url && { url }) })
    return [{ ref, ...told }]
  })
}

/** The content of a file's `ref`. */
export type FileRef = z.infer<typeof fileRef>

/** Decodes a file's `ref`. Undefined for the `ref` of another channel. */
export function toFileRef(ref: string): FileRef | undefined {
  return fileRef.safeParse(jsonOf(new TextEncoder().encode(ref))).data
}
