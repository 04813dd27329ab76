import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { mkdir, writeFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { gunzipSync, gzipSync } from 'node:zlib'
import { TestingError } from './error.ts'
import { isOpenCode2 } from './generation.ts'

/** A request of our client: an answer to a question or a permission, an abort or a prompt. */
export interface RecordedPost {
  /** `POST`, `DELETE`, … in capitals. */
  readonly method: string
  /** Without the query. */
  readonly path: string
  /** The JSON body as sent. Absent if there was none. */
  readonly body?: unknown
  /** The HTTP status of the response. */
  readonly status: number
}

/** One session's final state over REST. */
export interface RecordedSession {
  /** `GET /session/:id`, verbatim. */
  readonly info: unknown
  /** `GET /session/:id/message`, verbatim. */
  readonly messages: readonly unknown[]
  /** `GET /session/:id/todo`, verbatim. */
  readonly todos: readonly unknown[]
  /** Ids of `GET /session/:id/children`. */
  readonly children: readonly string[]
  /** The session's entry of `GET /session/status`. Absent means idle. */
  readonly status?: unknown
}

/** The server's REST responses at the end of a recording, to compare with the events of its stream. */
export interface RecordedState {
  /** The server's version. */
  readonly version: string
  /** The name of the scenario that was played. */
  readonly scenario: string
  /** The project's directory as recordings write it: `/project`. */
  readonly directory: string
  /** The sessions that our client created, in order. */
  readonly roots: readonly string[]
  /** The final state of every session, sub-agents' included, by id. */
  readonly sessions: Readonly<Record<string, RecordedSession>>
  /** The requests of our client, in order. */
  readonly posted: readonly RecordedPost[]
}

/** Names one recording. */
export interface RecordingName {
  /** The server's version. See `recordedVersions`. */
  readonly version: string
  /** The name of a scenario. See `scenarios`. */
  readonly scenario: string
}

/** The events of one scenario on one server, with the state that they led to. */
export interface Recording extends RecordingName {
  /** Raw SSE bytes, from `server.connected` until the server was quiet. */
  readonly bytes: Uint8Array
  /** The state at the end, over REST. */
  readonly truth: RecordedState
  /**
   * The replies that a live `watch` produced during the recording, in order of opening, as `comparableReply` returns
   * them. Undefined if none were stored.
   */
  readonly watched?: readonly unknown[]
}

/** The folder of the recordings, the same from `src` and from `dist`. */
const folder = fileURLToPath(new URL('../recordings/', import.meta.url))

const ending = {
  event: '.sse.gz',
  global: '.global.sse.gz',
  truth: '.truth.json.gz',
  watch: '.watch.json.gz',
} as const
/** Returns the path of one of a recording's files, which may not exist. */
const filePath = ({ version, scenario }: RecordingName, kind: keyof typeof ending): string =>
  `${folder}${version}/${scenario}${ending[kind]}`

/** Compares two versions by their numbers, for `sort`. */
const byNumbers = (a: string, b: string): number => a.localeCompare(b, 'en', { numeric: true })

/**
 * Returns every recording of a generation of OpenCode, by default the first, by version and then scenario. Empty if
 * there is no folder of recordings. `hasGlobal`: whether `/global/event` was recorded too.
 */
export const listRecordings = ({
  generation = 1,
}: {
  readonly generation?: 1 | 2
} = {}): readonly (RecordingName & { readonly hasGlobal: boolean })[] => {
  if (!existsSync(folder)) return []
  const versions = readdirSync(folder, { withFileTypes: true }).filter(
    (entry) => entry.isDirectory() && isOpenCode2(entry.name) === (generation === 2),
  )
  return versions
    .map((entry) => entry.name)
    .sort(byNumbers)
    .flatMap((version) =>
      readdirSync(`${folder}${version}`)
        .filter((name) => name.endsWith(ending.truth))
        .sort()
        .map((name) => ({ version, scenario: name.slice(0, -ending.truth.length) }))
        .map((name) => ({ ...name, hasGlobal: existsSync(filePath(name, 'global')) })),
    )
}

/**
 * Reads one recording: `/event`, or `/global/event` with `global`. Throws with type `recording` if it doesn't exist.
 */
export const readRecording = (wanted: RecordingName & { readonly global?: boolean }): Recording => {
  const { version, scenario, global = false } = wanted
  const path = filePath(wanted, global ? 'global' : 'event')
  if (!existsSync(path)) {
    const what = `${version}/${scenario}${global ? ' (global)' : ''}`
    throw new TestingError(
      'recording',
      `There is no recording ${what}: see listRecordings(), or create it with npm run record.`,
    )
  }
  const truth = JSON.parse(gunzipSync(readFileSync(filePath(wanted, 'truth'))).toString('utf8')) as RecordedState
  const bytes = new Uint8Array(gunzipSync(readFileSync(path)))
  const watch = filePath(wanted, 'watch')
  if (!existsSync(watch)) return { version, scenario, bytes, truth }
  const watched: readonly unknown[] = JSON.parse(gunzipSync(readFileSync(watch)).toString('utf8'))
  return { version, scenario, bytes, truth, watched }
}

/**
 * Stores a recording, replacing the one with its name. Without `global`, a stored stream of `/global/event` stays. Node
 * writes no time into gzip, so equal content gives equal files.
 */
export const writeRecording = async (
  truth: RecordedState,
  streams: { event: string; global?: string; watched: readonly unknown[] },
): Promise<void> => {
  const pack = (content: string): Buffer => gzipSync(content, { level: 9 })
  await mkdir(`${folder}${truth.version}`, { recursive: true })
  await writeFile(filePath(truth, 'event'), pack(streams.event))
  if (streams.global !== undefined) await writeFile(filePath(truth, 'global'), pack(streams.global))
  await writeFile(filePath(truth, 'truth'), pack(JSON.stringify(truth)))
  await writeFile(filePath(truth, 'watch'), pack(JSON.stringify(streams.watched)))
}
