import type { Fields } from '../fields.ts'
import { listIn, textIn } from '../platform/payload.ts'
import type { StoredFile } from './chat.ts'
import { limits } from './limits.ts'
import { badRequest } from './refusal.ts'
import type { TelegramState } from './state.ts'

/** A file that a person sends with a message. */
export interface TelegramSentFile {
  /** Default "document". */
  readonly kind?: 'document' | 'photo' | 'voice' | 'audio' | 'video'
  /** The content. */
  readonly bytes: Uint8Array
  /** The name on the person's device. Photos and voice messages have none. Default "file.txt". */
  readonly name?: string
  /** The media type. Photos have none. Default "text/plain". */
  readonly mime?: string
  /** Whether Telegram leaves out its size. Default false. */
  readonly isSizeHidden?: boolean
}

/** A file of a person's message, with the kind under which the message has it. */
export interface Media extends Required<TelegramSentFile> {
  readonly fileId: string
}

/** Stores a person's file under a new id, with the defaults of `TelegramSentFile`. */
export function storeMedia(state: TelegramState, file: TelegramSentFile): Media {
  const fileId = `file-${state.files.size + 1}`
  const media = {
    kind: 'document',
    name: 'file.txt',
    mime: 'text/plain',
    isSizeHidden: false,
    ...file,
    fileId,
  } as const
  state.files.set(fileId, media)
  return media
}

/**
 * The field of a message that has the file, by its kind. A photo has two sizes, small first.
 * https://core.telegram.org/bots/api#document and the types beside it.
 */
export function mediaFields({ kind, fileId, bytes, name, mime, isSizeHidden }: Media): Fields {
  const size = isSizeHidden ? {} : { file_size: bytes.length }
  const file = { file_id: fileId, file_unique_id: fileId, ...size }
  switch (kind) {
    case 'document':
      return { document: { ...file, file_name: name, mime_type: mime } }
    case 'photo':
      return {
        photo: [
          { ...file, file_id: `${fileId}-small`, file_size: 1, width: 90, height: 90 },
          { ...file, width: 1280, height: 1280 },
        ],
      }
    case 'voice':
      return { voice: { ...file, duration: 1, mime_type: mime } }
    case 'audio':
      return { audio: { ...file, duration: 1, file_name: name, mime_type: mime } }
    case 'video':
      return { video: { ...file, duration: 1, width: 90, height: 90, file_name: name, mime_type: mime } }
    default:
      return kind satisfies never
  }
}

/**
 * Returns where a file can be downloaded. Throws a `Refusal` if there is no such file, or if it is too large: "For the
 * moment, bots can download files of up to 20MB in size."
 * https://core.telegram.org/bots/api#getfile
 */
export function getFile({ files }: TelegramState, payload: Fields): unknown {
  const fileId = textIn(payload, 'file_id') ?? ''
  const file = files.get(fileId)
  if (!file) throw badRequest('wrong file_id or the file is temporarily unavailable')
  if (file.bytes.length > limits.download) throw badRequest('file is too big')
  return { file_id: fileId, file_unique_id: fileId, file_size: file.bytes.length, file_path: filePath(file) }
}

/** The file behind a path that `getFile` returned. Undefined if there is none. */
export function fileAt({ files }: TelegramState, path: string): StoredFile | undefined {
  return [...files.values()].find((file) => filePath(file) === path)
}

function filePath({ fileId }: StoredFile): string {
  return `files/${fileId}`
}

/**
 * Replaces the bot's menu. Throws a `Refusal` for no list, too many commands, or a wrong command.
 * https://core.telegram.org/bots/api#botcommand and https://core.telegram.org/bots/api#setmycommands
 */
export function setMyCommands(state: TelegramState, payload: Fields): unknown {
  const commands = listIn(payload, 'commands')
  if (!commands) throw badRequest('expected an Array of BotCommand')
  if (commands.length > 100) throw badRequest('BOT_COMMANDS_TOO_MUCH')
  state.commands = commands.map(readCommand)
  return true
}

/** A command in the bot's menu. */
export interface TelegramCommand {
  /** Without the slash. */
  readonly command: string
  /** The description beside it. */
  readonly description: string
}

/** Returns the command without its slash. Throws a `Refusal` for a name or description that Telegram doesn't accept. */
function readCommand(value: unknown): TelegramCommand {
  if (typeof value !== 'object' || value === null) throw badRequest('expected an Object')
  const { command, description } = { command: '', description: '', ...value }
  if (!/^\/?[a-z0-9_]{1,32}$/.test(command)) throw badRequest('BOT_COMMAND_INVALID')
  if (description.trim() === '' || description.length > 256) throw badRequest('BOT_COMMAND_DESCRIPTION_INVALID')
  return { command: command.replace(/^\//, ''), description }
}
