/** Which person writes, and how the message came about. */
export interface BaileysSay {
  /** In a group: the author. Default "111111111111111@lid". */
  readonly from?: string
  /** The author's other id: the number of a LID, or the LID of a number. Default: WhatsApp sends none. */
  readonly alt?: string
  /** Whether it was forwarded. Default false. */
  readonly isForwarded?: boolean
  /** Default "Ada". */
  readonly name?: string
  /** The id of the message that it replies to. */
  readonly replyTo?: string
  /** Whether it begins with a mention of this account. Default false. */
  readonly mention?: boolean
  /** A document; the text is its caption, and may be empty. */
  readonly file?: { readonly name: string; readonly bytes: Uint8Array; readonly mime?: string }
  /** Whether it was written on the phone of this account. Default false. */
  readonly isMine?: boolean
  /** Whether it is in a chat with disappearing messages. Default false. */
  readonly isEphemeral?: boolean
  /**
   * The wrappers around its content, from the outside, by their names in Baileys' `proto.IMessage`, such as
   * "viewOnceMessageV2". Default none.
   */
  readonly wrappers?: readonly string[]
}

/** As `prepareWAMessageMedia` of Baileys makes it. Nothing is encrypted here: the path holds the content. */
export function documentOf(
  { name, bytes, mime = 'text/plain' }: NonNullable<BaileysSay['file']>,
  caption: string,
  contextInfo: object,
): object {
  const directPath = `/${Buffer.from(bytes).toString('base64url')}`
  const file = { mimetype: mime, fileName: name, fileLength: bytes.length, mediaKey: new Uint8Array(32), directPath }
  return { ...file, caption, contextInfo }
}
