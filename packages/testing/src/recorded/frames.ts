/** One frame of a recording: its JSON text as it went over the wire, and what it says. */
export interface Frame {
  readonly data: string
  readonly type: string
  readonly properties: Readonly<Record<string, unknown>>
}

const parsed = new WeakMap<Uint8Array, readonly Frame[]>()

/**
 * The frames of raw recorded bytes, without heartbeats and without the first `server.connected`, which a server sends by
 * itself. Of the same array they are read once: one recording is played thousands of times.
 */
export function framesOf(bytes: Uint8Array): readonly Frame[] {
  const known = parsed.get(bytes)
  if (known) return known
  const frames = parse(bytes)
  parsed.set(bytes, frames)
  return frames
}

function parse(bytes: Uint8Array): readonly Frame[] {
  const lines = new TextDecoder().decode(bytes).split('\n')
  const frames = lines.filter((line) => line.startsWith('data: ')).map((line) => toFrame(line.slice(6)))
  const start = frames[0]?.type === 'server.connected' ? 1 : 0
  return frames.slice(start).filter((frame) => frame.type !== 'server.heartbeat' && frame.type !== 'sync')
}

/** The server was started again here: what came before it on the stream is over. */
export function isRestart(frame: Frame | undefined): boolean {
  return frame?.type === 'server.connected'
}

function toFrame(data: string): Frame {
  const value: unknown = JSON.parse(data)
  const frame = fieldsOf(fieldsOf(value).payload ?? value)
  return { data, type: String(frame.type), properties: fieldsOf(frame.properties) }
}

export function fieldsOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? { ...value } : {}
}
