import type { Fields } from '../fields.ts'
import type { SlackFileSent } from './chat.ts'
import type { SlackState } from './state.ts'

/** A file that a person shares with a message. */
export interface SlackPersonFile {
  /** The name on the person's device. */
  readonly name: string
  /** The content. */
  readonly bytes: Uint8Array
  /** The media type. Default "text/plain". */
  readonly mime?: string
  /**
   * Whether it is a voice clip, whose container Slack calls a video. Default false.
   * https://github.com/openclaw/openclaw/pull/14941
   */
  readonly isClip?: boolean
  /** The event has only the file's id, as in channels shared with another organization. Default false. */
  readonly isBare?: boolean
  /**
   * Another service stores it, for example Google Drive, and Slack has its address alone. Default false.
   * https://docs.slack.dev/reference/objects/file-object
   */
  readonly isExternal?: boolean
}

const external = {
  mode: 'external',
  is_external: true,
  external_type: 'gdrive',
  url_private: 'https://docs.google.com/document/d/1',
} as const

/**
 * Stores a file, and returns its fields in an event. Of some files an event only has the id, and `files.info` the rest:
 * https://docs.slack.dev/reference/objects/file-object
 */
export function shareFile(state: SlackState, shared: SlackPersonFile): Fields {
  const { name, bytes, mime = 'text/plain', isClip = false, isBare = false, isExternal = false } = shared
  const file = { id: state.nextId('F'), name, bytes, mime, ...(isClip && { subtype: 'slack_audio' }) }
  if (isExternal) return { id: file.id, name, mimetype: mime, ...external }
  state.files.set(file.id, file)
  return isBare ? { id: file.id, file_access: 'check_file_info' } : fileFields(state, file)
}

/** A file as events and `files.info` show it. */
export function fileFields(
  state: SlackState,
  { id, name, bytes, mime = 'text/plain', subtype }: SlackFileSent,
): Fields {
  const url = `${state.addressOf()}/files-pri/${state.team}-${id}`
  return {
    id,
    name,
    mimetype: mime,
    ...(subtype !== undefined && { subtype }),
    size: bytes.length,
    url_private: `${url}/${encodeURIComponent(name)}`,
    url_private_download: `${url}/download/${encodeURIComponent(name)}`,
  }
}

/** The file behind a private address. Undefined for another address. */
export function fileAt({ files, team }: SlackState, path: string): SlackFileSent | undefined {
  const [, id = ''] = new RegExp(`^/files-pri/${team}-(F\\w+)/`).exec(path) ?? []
  return files.get(id)
}
