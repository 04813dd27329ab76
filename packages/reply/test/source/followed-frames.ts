import { createHandClock, listRecordings, readRecording } from '@reply/testing'
import { expect } from 'vitest'
import { createFollowing } from '../../src/drive/connection/following.ts'
import { createEngine } from '../../src/drive/engine.ts'
import { isFields } from '../../src/fields.ts'
import { createFollowedDecoder } from '../../src/source/decode/followed-frames.ts'
import { createDecoder } from '../../src/source/opencode1/decode.ts'
import { createDecoder2 } from '../../src/source/opencode2/decode.ts'
import type { Following } from '../../src/source/port.ts'
import type { FrameDecoder } from '../../src/wire/reader.ts'

export type Generation = 1 | 2

/** One recorded stream. */
export interface RecordedStream {
  readonly generation: Generation
  readonly version: string
  readonly scenario: string
  readonly global: boolean
}

export const recordedStreams: readonly RecordedStream[] = ([1, 2] as const).flatMap((generation) =>
  listRecordings({ generation }).flatMap(({ version, scenario, hasGlobal }) =>
    (hasGlobal ? [false, true] : [false]).map((global) => ({ generation, version, scenario, global })),
  ),
)

/** The data of each frame. */
export function framesOf(stream: RecordedStream): readonly string[] {
  const lines = new TextDecoder().decode(readRecording(stream).bytes).split('\n')
  return lines.flatMap((line) => (line.startsWith('data:') ? [line.slice(5).trim()] : []))
}

/** The streams of a version, mixed six by six. Leaves out long ones. */
export function mixedStreams(version: string): readonly (readonly string[])[] {
  const streams = recordedStreams
    .filter((one) => one.version === version && !one.global)
    .map(framesOf)
    .filter((frames) => frames.length < 250)
  return Array.from({ length: Math.floor(streams.length / 6) }, (_, at) => mix(streams.slice(at * 6, at * 6 + 6)))
}

/** Frames of several streams in turn, a few of each at a time. */
function mix(streams: readonly (readonly string[])[]): readonly string[] {
  const rest = streams.map((frames) => [...frames])
  const all: string[] = []
  for (let turn = 1; rest.some((frames) => frames.length > 0); turn++)
    for (const [index, frames] of rest.entries()) all.push(...frames.splice(0, ((turn + index) % 5) + 1))
  return all
}

/**
 * Reads the frames once for all sessions, and once for each root session alone. Expects the same steps of it. Returns
 * the share of other sessions' frames that were parsed.
 */
export function expectSameSteps(frames: readonly string[], generation: Generation): number {
  const all = readFrames(frames, generation)
  let parsed = 0
  let foreign = 0
  for (const [rootID, steps] of all.steps) {
    const own = readFrames(frames, generation, rootID)
    expect([...own.steps.keys()]).toEqual([rootID])
    expect(own.steps.get(rootID)).toEqual(steps)
    parsed += own.parsed - own.applied
    foreign += all.parsed - own.applied
  }
  return foreign === 0 ? 0 : Math.max(0, parsed) / foreign
}

/** Expects the same steps of each session in each recording of a version. */
export function expectSameStepsInEach(version: string): void {
  for (const one of recordedStreams) if (one.version === version) expectSameSteps(framesOf(one), one.generation)
}

/** Reads frames for one session, or for all. Counts the frames with a session's id that were parsed and applied. */
function readFrames(frames: readonly string[], generation: Generation, rootID?: string) {
  const engine = createEngine((error) => expect.fail(error.message), 1000)
  const following = createFollowing({ engine, clock: createHandClock(), keepReleased: 1000 }, rootID === undefined)
  if (rootID !== undefined) following.hold().cover(rootID)
  const steps = new Map<string, string[]>()
  const note = (sessionID: string, value: unknown): void =>
    void steps.set(sessionID, [...(steps.get(sessionID) ?? []), JSON.stringify(value)])
  engine.onStep(({ reply, changes, run }) => {
    note(reply.sessionID, [run, changes])
    if (reply.phase === 'settled') note(reply.sessionID, reply)
  })
  const counting = createCountingDecoder(generation)
  const decoder = createFollowedDecoder(counting.decoder, following)
  let applied = 0
  frames.forEach((frame, at) => {
    const decoded = decoder.decode(frame, at) ?? []
    const events = 'type' in decoded ? [decoded] : decoded
    if (events.length > 0 && frame.includes('"ses_')) applied += 1
    engine.apply(events)
  })
  for (const reply of engine.openReplies()) note(reply.sessionID, reply)
  return { steps, parsed: counting.parsed(), applied }
}

/** A decoder that counts the frames with a session's id. */
export function createCountingDecoder(generation: Generation) {
  let parsed = 0
  const inner = generation === 1 ? createDecoder() : createDecoder2()
  const decoder: FrameDecoder = {
    decode: (data, at) => {
      if (data.includes('"ses_')) parsed += 1
      return inner.decode(data, at)
    },
  }
  return { decoder, parsed: () => parsed }
}

/** Sessions that are followed, without a driver. */
export function followOnly(...rootIDs: readonly string[]): Following {
  const followed = new Set(rootIDs)
  return {
    isEvery: () => false,
    includes: (id) => followed.has(id),
    addChild: (sessionID) => {
      const isNew = !followed.has(sessionID)
      followed.add(sessionID)
      return isNew
    },
    onAdded: () => {},
  }
}

/** The same frame as another serializer might write it: in another order of keys, with escapes, or with a key twice. */
export function disguise(frame: string, how: number): string {
  if (how === 1) return JSON.stringify(JSON.parse(frame, (_, value) => (isFields(value) ? reversed(value) : value)))
  if (how === 2) return frame.replaceAll('ses_', '\\u0073es\\u005F')
  if (how === 3) return frame.replace(/"sessionID":/, '"sessionID":"ses_nobody","sessionID":')
  return frame
}

function reversed(fields: object): object {
  return Object.fromEntries(Object.entries(fields).reverse())
}

/** Whether the frame introduces a sub-agent's session. */
export function introducesChild(frame: string): boolean {
  return /"type":"session\.(?:created|updated)(?:\.\d+)?"/.test(frame) && frame.includes('"parentID":"ses_')
}
