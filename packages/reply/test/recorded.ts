import type { Event, Message, Part, Session, Todo } from '@opencode-ai/sdk/v2'
import { listRecordings, readRecording } from '@reply/testing'

/** One recorded stream. A scenario that was also recorded over `/global/event` gives two of them. */
export interface Recorded {
  readonly name: string
  readonly version: string
  readonly scenario: string
  readonly read: () => Tape
}

/** The bytes that a server sent, and its final REST responses. */
export interface Tape {
  readonly bytes: Uint8Array
  readonly sessions: readonly Told[]
}

/** A session's final state according to its server. */
export interface Told {
  readonly id: string
  readonly info: Session
  readonly messages: readonly { readonly info: Message; readonly parts: readonly Part[] }[]
  readonly todos: readonly Todo[]
  readonly children: readonly string[]
}

export const recorded: readonly Recorded[] = listRecordings().flatMap(({ version, scenario, hasGlobal }) =>
  (hasGlobal ? [false, true] : [false]).map((global) => ({
    name: `${version}/${scenario}${global ? ' global' : ''}`,
    version,
    scenario,
    read: () => readTape({ version, scenario, global }),
  })),
)

function readTape(wanted: { version: string; scenario: string; global: boolean }): Tape {
  const { bytes, truth } = readRecording(wanted)
  return { bytes, sessions: Object.entries(truth.sessions).map(([id, told]) => ({ id, ...told }) as unknown as Told) }
}

/** The recorded frames, parsed and unwrapped, without the second copies on `/global/event`. */
export function framesOf(bytes: Uint8Array): readonly Event[] {
  const lines = new TextDecoder().decode(bytes).split('\n')
  const frames = lines.filter((line) => line.startsWith('data:')).map((line) => JSON.parse(line.slice(5)))
  return frames.map((frame) => frame.payload ?? frame).filter((frame) => frame.type !== 'sync')
}
