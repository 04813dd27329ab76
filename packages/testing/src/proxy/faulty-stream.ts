import { fieldsOf } from '../fields.ts'
import type { StreamFault } from './fault.ts'

/** The destination of an event stream's bytes. */
export interface Outlet {
  write(bytes: Uint8Array): void
  /** Ends the output. Written data still arrives. */
  end(how: 'break' | 'end'): void
}

/** The part of a clock that delays need. */
export interface Timer {
  /** In ms since the epoch. */
  now(): number
  /** Runs once, later. Returns a function that cancels it. */
  after(delayMs: number, run: () => void): () => void
}

export interface StreamedFrame {
  /** The number of this event on the connection, from 1. Uncounted frames have the previous event's number. */
  readonly event: number
  readonly type: string
  /** Its JSON text. */
  readonly data: string
}

export interface FaultyStream {
  /** Takes bytes from the server. Passes on the frames that are complete, and keeps the rest. */
  receive(chunk: Uint8Array): void
  /** Takes the server's end, which follows an incomplete frame and those that are delayed or held back. */
  end(how: 'break' | 'end'): void
  /** Adds a fault. Its place counts from here. Applies it at once if its place is reached. */
  inject(fault: StreamFault): void
  /** Ends the output now. What is held back never arrives. Does nothing if it has ended. */
  cut(how: 'break' | 'end'): void
  /** Holds everything back from now on. */
  stall(): void
  /** Writes what was held back, in order, until a fault stalls it again. */
  resume(): void
  /** Ends without a word to the client, which has disconnected. */
  discard(): void
}

interface Mark {
  readonly fault: Extract<StreamFault, { type: 'cut' | 'stall' }>
  readonly unit: 'bytes' | 'events'
  readonly at: number
}

/**
 * Forwards one event stream, frame by frame, and applies its faults. Calls `onFrame` after each frame it wrote, once
 * for a duplicate, and not for one that ended the output.
 */
export function createFaultyStream(
  outlet: Outlet,
  timer: Timer,
  onFrame: (frame: StreamedFrame) => void,
): FaultyStream {
  const marks = new Set<Mark>()
  const drops = new Map<string, { left: number; readonly until: number }>()
  const doubledEvents = new Set<number>()
  const delayed: (() => void)[] = []
  const stops = new Set<() => void>()
  let heldBack: (() => void)[] = []
  let partialFrame: Uint8Array = new Uint8Array()
  let delayMs = 0
  let bytes = 0
  let events = 0
  let doublesAll = false
  let isStalled = false
  let hasEnded = false
  return { receive, end, inject, cut, stall, resume, discard }

  /**
   * Adds a fault, and applies it at once if its place is reached. A later drop or delay replaces the one before, for
   * the same type of event.
   */
  function inject(fault: StreamFault): void {
    switch (fault.type) {
      case 'cut':
      case 'stall': {
        const unit = 'bytes' in fault.at ? 'bytes' : 'events'
        const dueAt = 'bytes' in fault.at ? bytes + fault.at.bytes : events + fault.at.events
        marks.add({ fault, unit, at: dueAt })
        return applyDueFaults()
      }
      case 'drop':
        drops.set(fault.event ?? 'server.heartbeat', {
          left: fault.times ?? Number.POSITIVE_INFINITY,
          until: timer.now() + (fault.forMs ?? Number.POSITIVE_INFINITY),
        })
        return
      case 'delay':
        delayMs = fault.delayMs
        return
      case 'duplicate':
        if (fault.event === undefined) doublesAll = true
        else doubledEvents.add(events + fault.event)
        return
      default:
        return fault satisfies never
    }
  }

  /** Passes on the frames that are complete with these bytes, and keeps the rest. */
  function receive(chunk: Uint8Array): void {
    const all = Buffer.concat([partialFrame, chunk])
    let start = 0
    for (let at = all.indexOf('\n\n'); at !== -1; at = all.indexOf('\n\n', start)) {
      const frame = all.subarray(start, at + 2)
      start = at + 2
      afterDelay(() => passFrame(frame))
    }
    partialFrame = all.subarray(start)
  }

  /** Ends the output behind the frames that are delayed or held back, and an incomplete one. */
  function end(how: 'break' | 'end'): void {
    const partial = partialFrame
    afterDelay(() => writeAndEnd(partial, how))
  }

  /** Writes an incomplete frame and ends the output. While stalled, holds both back. */
  function writeAndEnd(partial: Uint8Array, how: 'break' | 'end'): void {
    if (isStalled) {
      heldBack.push(() => writeAndEnd(partial, how))
      return
    }
    write(partial, () => cut(how))
  }

  /**
   * Runs a step after the delay, at once if there is none and no step waits. Keeps the steps in order, whatever the
   * timers do. Does nothing after the end.
   */
  function afterDelay(run: () => void): void {
    if (hasEnded) return
    if (delayMs === 0 && delayed.length === 0) return run()
    delayed.push(run)
    const stop = timer.after(delayMs, () => {
      stops.delete(stop)
      delayed.shift()?.()
    })
    stops.add(stop)
  }

  /**
   * Writes a frame, twice or not at all if a fault demands it, counts it, and applies what is due behind it. Holds it
   * back while stalled. Does nothing after the end.
   */
  function passFrame(frame: Uint8Array): void {
    if (hasEnded) return
    if (isStalled) {
      heldBack.push(() => passFrame(frame))
      return
    }
    const { type, data } = readEvent(frame)
    if (takeDrop(type)) return
    const isCounted = type !== 'server.heartbeat' && type !== 'sync'
    const isTwice = isCounted && (doublesAll || doubledEvents.has(events + 1))
    write(frame, () => {
      if (isCounted) events += 1
      onFrame({ event: events, type, data })
      applyDueFaults()
      if (isTwice) write(frame)
    })
  }

  /** Whether a frame of this type is dropped. Uses up one of its times if so. */
  function takeDrop(type: string): boolean {
    const drop = drops.get(type)
    if (!drop || drop.left <= 0 || timer.now() > drop.until) return false
    drop.left -= 1
    return true
  }

  /**
   * Writes bytes, applies each fault at its byte, and calls `onWritten` behind the last one. Holds back what comes behind
   * a stall. Does nothing after the end.
   */
  function write(chunk: Uint8Array, onWritten: () => void = () => {}): void {
    if (hasEnded) return
    if (chunk.length === 0) return onWritten()
    if (isStalled) {
      heldBack.push(() => write(chunk, onWritten))
      return
    }
    const ends = [...marks].flatMap((mark) => (mark.unit === 'bytes' ? [mark.at] : []))
    const length = Math.min(chunk.length, ...ends.map((at) => at - bytes).filter((left) => left > 0))
    bytes += length
    outlet.write(chunk.subarray(0, length))
    applyDueFaults()
    write(chunk.subarray(length), onWritten)
  }

  /** Applies and forgets the faults whose place is reached. */
  function applyDueFaults(): void {
    for (const mark of marks) {
      if (hasEnded || (mark.unit === 'bytes' ? bytes : events) < mark.at) continue
      marks.delete(mark)
      if (mark.fault.type === 'stall') stall()
      else cut(mark.fault.how ?? 'break')
    }
  }

  /** Holds everything back from now on. */
  function stall(): void {
    isStalled = true
  }

  /** Writes what was held back, in order, until a fault stalls it again. */
  function resume(): void {
    isStalled = false
    const waiting = heldBack
    heldBack = []
    // One of them may stall the stream again. The rest is then held back again, in order.
    for (const run of waiting) run()
  }

  /** Ends the output now. What is held back never arrives. Does nothing if it has ended. */
  function cut(how: 'break' | 'end'): void {
    if (hasEnded) return
    discard()
    outlet.end(how)
  }

  /** Drops what is held back or delayed, and ignores everything from now on. */
  function discard(): void {
    hasEnded = true
    heldBack = []
    for (const stop of stops) stop()
    stops.clear()
    delayed.length = 0
  }
}

/** Returns the type and the JSON text of a frame. The type of one that isn't JSON is empty. */
function readEvent(frame: Uint8Array): { readonly type: string; readonly data: string } {
  const lines = Buffer.from(frame).toString('utf8').split('\n')
  const data = lines.flatMap((line) => (line.startsWith('data:') ? [line.slice(5).trimStart()] : [])).join('\n')
  try {
    const fields = fieldsOf(JSON.parse(data))
    return { type: String(fieldsOf(fields.payload ?? fields).type), data }
  } catch {
    return { type: '', data }
  }
}
