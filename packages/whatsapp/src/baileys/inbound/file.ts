import type { InboundFile } from '@reply/sink'
import { jsonOf } from '@reply/sink/internal'
import * as z from 'zod'

/** A file's key: bytes, or their base64 after a message was stored as JSON. */
const fileKey = z
  .union([z.instanceof(Uint8Array), z.string()])
  .nullish()
  .catch(undefined)

/** What a message says of a file, under WhatsApp's names. */
export const fileFields = {
  mimetype: z.string().nullish(),
  fileName: z.string().nullish(),
  fileLength: z.coerce.number().nonnegative().nullish().catch(undefined),
  mediaKey: fileKey,
  directPath: z.string().nullish(),
  url: z.string().nullish(),
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
export function filesIn(inner: FileContents | undefined): readonly InboundFile[] {
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
