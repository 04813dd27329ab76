import { fieldsOf } from '../fields.ts'
import type { StreamFault } from './fault.ts'

/** The destination of an event stream's bytes. */
interface Outlet {
  write(bytes: Uint8Array): void
  /** Ends the output. Written data still arrives. */
  end(how: 'break' | 'end'): void
}

export interface Timer {
  after(delayMs: number, run: () => void): () => void
}

export interface CarriedFrame {
  /** The number of this event on the connection, from 1. Uncounted frames have the previous event's number. */
  readonly event: number
  readonly type: string
  /** Its JSON text. */
  readonly data: string
}

export interface Carrier {
  /** Bytes from the server. */
  push(chunk: Uint8Array): void
  /** The server's end. */
  end(how: 'break' | 'end'): void
  /** Adds a fault. Its place counts from here. */
  inject(fault: StreamFault): void
  cut(how: 'break' | 'end'): void
  stall(): void
  resume(): void
  /** Drops everything that is held back. */
  drop(): void
}

interface CarrierOptions {
  readonly outlet: Outlet
  readonly timer: Timer
  /** Called with each frame after it was written. */
  readonly onFrame: (frame: CarriedFrame) => void
}

interface Mark {
  readonly fault: Extract<StreamFault, { type: 'cut' | 'stall' }>
  readonly unit: 'bytes' | 'events'
  readonly at: number
}

/** Forwards one event stream, frame by frame, and applies its faults. */
export function createCarrier({ outlet, timer, onFrame }: CarrierOptions): Carrier {
  const marks = new Set<Mark>()
  const dropping = new Map<string, number>()
  const repeated = new Set<number>()
  const delayed: (() => void)[] = []
  const stops = new Set<() => void>()
  let held: (() => void)[] = []
  let rest: Uint8Array = new Uint8Array()
  let delayMs = 0
  let bytes = 0
  let events = 0
  let doubles = false
  let isStalled = false
  let isOver = false
  return { push, end, inject, cut, stall, resume, drop }

  function inject(fault: StreamFault): void {
    switch (fault.type) {
      case 'cut':
      case 'stall': {
        const unit = 'bytes' in fault.at ? 'bytes' : 'events'
        const from = 'bytes' in fault.at ? bytes + fault.at.bytes : events + fault.at.events
        marks.add({ fault, unit, at: from })
        return reach()
      }
      case 'drop':
        dropping.set(fault.event ?? 'server.heartbeat', fault.times ?? Number.POSITIVE_INFINITY)
        return
      case 'delay':
        delayMs = fault.delayMs
        return
      case 'duplicate':
        if (fault.event === undefined) doubles = true
        else repeated.add(events + fault.event)
        return
      default:
        return fault satisfies never
    }
  }

  function push(chunk: Uint8Array): void {
    const all = Buffer.concat([rest, chunk])
    let start = 0
    for (let at = all.indexOf('\n\n'); at !== -1; at = all.indexOf('\n\n', start)) {
      const frame = all.subarray(start, at + 2)
      start = at + 2
      later(() => carry(frame))
    }
    rest = all.subarray(start)
  }

  function end(how: 'break' | 'end'): void {
    const half = rest
    later(() => finish(half, how))
  }

  /** An end behind a stall is held back too. */
  function finish(half: Uint8Array, how: 'break' | 'end'): void {
    if (isStalled) {
      held.push(() => finish(half, how))
      return
    }
    write(half)
    cut(how)
  }

  /** Keeps delayed frames in order, whatever the timers do. */
  function later(run: () => void): void {
    if (isOver) return
    if (delayMs === 0 && delayed.length === 0) return run()
    delayed.push(run)
    const stop = timer.after(delayMs, () => {
      stops.delete(stop)
      delayed.shift()?.()
    })
    stops.add(stop)
  }

  function carry(frame: Uint8Array): void {
    if (isOver) return
    if (isStalled) {
      held.push(() => carry(frame))
      return
    }
    const { type, data } = read(frame)
    if (isDropped(type)) return
    const isCounted = type !== 'server.heartbeat' && type !== 'sync'
    const isTwice = isCounted && (doubles || repeated.has(events + 1))
    write(frame)
    if (isCounted) events += 1
    if (!isOver) onFrame({ event: events, type, data })
    reach()
    if (isTwice) write(frame)
  }

  function isDropped(type: string): boolean {
    const left = dropping.get(type) ?? 0
    dropping.set(type, left - 1)
    return left > 0
  }

  /** Writes up to the next byte where a fault applies. */
  function write(chunk: Uint8Array): void {
    if (isOver || chunk.length === 0) return
    if (isStalled) {
      held.push(() => write(chunk))
      return
    }
    const ends = [...marks].flatMap((mark) => (mark.unit === 'bytes' ? [mark.at] : []))
    const length = Math.min(chunk.length, ...ends.map((at) => at - bytes).filter((left) => left > 0))
    bytes += length
    outlet.write(chunk.subarray(0, length))
    reach()
    write(chunk.subarray(length))
  }

  /** Applies the faults that are due here. */
  function reach(): void {
    for (const mark of marks) {
      if (isOver || (mark.unit === 'bytes' ? bytes : events) < mark.at) continue
      marks.delete(mark)
      if (mark.fault.type === 'stall') stall()
      else cut(mark.fault.how ?? 'break')
    }
  }

  function stall(): void {
    isStalled = true
  }

  function resume(): void {
    isStalled = false
    const waiting = held
    held = []
    // One of them may stall the stream again. The rest is then held back again, in order.
    for (const run of waiting) run()
  }

  function cut(how: 'break' | 'end'): void {
    if (isOver) return
    drop()
    outlet.end(how)
  }

  function drop(): void {
    isOver = true
    held = []
    for (const stop of stops) stop()
    stops.clear()
    delayed.length = 0
  }
}

/** A frame that isn't JSON has no type. */
function read(frame: Uint8Array): { readonly type: string; readonly data: string } {
  const lines = Buffer.from(frame).toString('utf8').split('\n')
  const data = lines.flatMap((line) => (line.startsWith('data:') ? [line.slice(5).trimStart()] : [])).join('\n')
  try {
    const fields = fieldsOf(JSON.parse(data))
    return { type: String(fieldsOf(fields.payload ?? fields).type), data }
  } catch {
    return { type: '', data }
  }
}
