import type { IncomingMessage } from 'node:http'
import type { Clock } from '@reply/core'

/** Limits for reading bodies before their signatures can be checked. */
export interface BodyLimits {
  /** Maximum size of one body, in bytes. */
  readonly maxBytes: number
  /** Maximum size of all bodies that are being read at the same time, in bytes. */
  readonly maxUnverifiedBytes: number
  /** How long reading one body may take, in ms. */
  readonly bodyMs: number
  readonly clock: Clock
}

/** The body, or the HTTP status of the refusal: 408 for a slow body, 413 for a large one, 503 for lack of room. */
export type BodyRead = Uint8Array | 408 | 413 | 503

/** Reads a body within the limits. Rejects if the client disconnects. */
export type BodyReader = (source: BodySource) => Promise<BodyRead>

/** Calls the listener asynchronously, until the returned function is called. Throws if the body can't be read. */
export type BodySource = (listener: BodyListener) => () => void

interface BodyListener {
  readonly data: (piece: Uint8Array) => void
  readonly end: () => void
  readonly fail: (error: unknown) => void
}

interface OpenBody {
  /** The number of bytes that its buffer reserves. */
  readonly reservedBytes: () => number
  /** Ends reading with 503. */
  readonly refuse: () => void
}

/** The initial buffer of a body, in bytes. Most requests of platforms are smaller. */
const firstBytes = 4096

/**
 * Creates the reader of a webhook's bodies. `maxBytes` and `bodyMs` limit each body, and `maxUnverifiedBytes` limits all that
 * are being read together.
 */
export function createBodyReader({ maxBytes, maxUnverifiedBytes, bodyMs, clock }: BodyLimits): BodyReader {
  const open = new Set<OpenBody>()
  /** Bytes that all open bodies reserve. */
  let reservedInAll = 0
  return (source) =>
    new Promise((resolve, reject) => {
      /** One growing buffer. A list of one-byte pieces would take a hundred times their size. */
      let bytes = new Uint8Array(0)
      let length = 0
      let isOver = false
      const body: OpenBody = { reservedBytes: () => bytes.length, refuse: () => finishWith(503) }
      open.add(body)
      const stopTimer = clock.after(bodyMs, () => finishWith(408))
      let stop = (): void => {}
      const listener: BodyListener = {
        data: (piece) => {
          if (isOver) return
          const needed = length + piece.length
          if (needed > maxBytes) return finishWith(413)
          if (needed > bytes.length) growBuffer(needed)
          bytes.set(piece, length)
          length = needed
          if (reservedInAll > maxUnverifiedBytes) makeRoom()
        },
        end: () => finishWith(bytes.subarray(0, length)),
        fail: (error) => {
          if (isOver) return
          releaseBody()
          reject(error)
        },
      }
      try {
        stop = source(listener)
      } catch (error) {
        listener.fail(error)
      }

      /** Makes the buffer large enough, and adds what it grows by to the reserved bytes. */
      function growBuffer(needed: number): void {
        const larger = new Uint8Array(Math.min(maxBytes, Math.max(needed, bytes.length * 2, firstBytes)))
        larger.set(bytes.subarray(0, length))
        reservedInAll += larger.length - bytes.length
        bytes = larger
      }

      /** Resolves with the result, removes the body and frees its reserved bytes. Later calls do nothing. */
      function finishWith(result: BodyRead): void {
        if (isOver) return
        releaseBody()
        resolve(result)
      }

      /** Stops reading, removes the body and frees its reserved bytes. */
      function releaseBody(): void {
        isOver = true
        open.delete(body)
        reservedInAll -= bytes.length
        stopTimer()
        stop()
      }
    })

  /**
   * Refuses the largest bodies until the others fit `maxUnverifiedBytes`, so that the platform's small requests get through a
   * flood.
   */
  function makeRoom(): void {
    for (const body of [...open].sort((a, b) => b.reservedBytes() - a.reservedBytes())) {
      if (reservedInAll <= maxUnverifiedBytes) return
      body.refuse()
    }
  }
}

/** Returns the body of a `node:http` request, to read. A body that an earlier reader has consumed reads as empty. */
export function nodeBody(request: IncomingMessage): BodySource {
  return ({ data, end, fail }) => {
    // An earlier reader has consumed the body. It reads as empty, so its signature check fails.
    if (request.readableEnded || request.destroyed) queueMicrotask(end)
    const onClose = (): void => fail(new Error('The client disconnected before the whole body arrived.'))
    request.on('data', data).on('end', end).on('error', fail).on('close', onClose)
    return () => void request.off('data', data).off('end', end).off('error', fail).off('close', onClose).pause()
  }
}

/** Returns the body of a web request, to read. Stopping cancels the stream. */
export function webBody(stream: ReadableStream<Uint8Array>): BodySource {
  return ({ data, end, fail }) => {
    const reader = stream.getReader()
    const pump = async (): Promise<void> => {
      for (;;) {
        const { done, value } = await reader.read()
        if (done) return end()
        data(value)
      }
    }
    pump().catch(fail)
    return () => void reader.cancel().catch(() => {})
  }
}
