import { type Fields, fieldsOf } from '../fields.ts'

/** One frame of a recording: its JSON text and the parsed event. */
export interface Frame {
  readonly data: string
  readonly type: string
  /** Version 2 calls them `data`. */
  readonly properties: Fields
  /** When the server created it, in ms since the epoch. Only version 2 reports it. */
  readonly created: number | undefined
}

const framesByBytes = new WeakMap<Uint8Array, readonly Frame[]>()

/**
 * Returns the frames of raw recorded bytes, without heartbeats, `sync` copies and a first `server.connected`, which
 * every server sends itself. Cached per array: one recording is played thousands of times. Throws if a frame isn't
 * JSON.
 */
export function framesOf(bytes: Uint8Array): readonly Frame[] {
  const cached = framesByBytes.get(bytes)
  if (cached) return cached
  const frames = parseFrames(bytes)
  framesByBytes.set(bytes, frames)
  return frames
}

/**
 * Returns the frames of raw recorded bytes, without heartbeats, `sync` copies and a first `server.connected`. Throws if
 * a frame isn't JSON.
 */
function parseFrames(bytes: Uint8Array): readonly Frame[] {
  const lines = new TextDecoder().decode(bytes).split('\n')
  const frames = lines.filter((line) => line.startsWith('data: ')).map((line) => readFrame(line.slice(6)))
  const start = frames[0]?.type === 'server.connected' ? 1 : 0
  return frames.slice(start).filter((frame) => frame.type !== 'server.heartbeat' && frame.type !== 'sync')
}

/** Whether the server was restarted here, which ends the stream before it. False for undefined. */
export function isRestart(frame: Frame | undefined): boolean {
  return frame?.type === 'server.connected'
}

/** Returns an event of `/event`, or of `/global/event`, which wraps it. Throws if it isn't JSON. */
function readFrame(data: string): Frame {
  const value: unknown = JSON.parse(data)
  const frame = fieldsOf(fieldsOf(value).payload ?? value)
  const created = typeof frame.created === 'number' ? frame.created : undefined
  return { data, type: String(frame.type), properties: fieldsOf(frame.properties ?? frame.data), created }
}
