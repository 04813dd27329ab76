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
  /** The number of bytes that it reserves. */
  readonly held: () => number
  readonly drop: () => void
}

/** The initial buffer of a body, in bytes. Most requests of platforms are smaller. */
const firstBytes = 4096

export function createBodyReader({ maxBytes, maxUnverifiedBytes, bodyMs, clock }: BodyLimits): BodyReader {
  const open = new Set<OpenBody>()
  /** Bytes that all open bodies reserve. */
  let held = 0
  return (source) =>
    new Promise((resolve, reject) => {
      /** One growing buffer. A list of one-byte pieces would take a hundred times their size. */
      let bytes = new Uint8Array(0)
      let length = 0
      let isOver = false
      const body: OpenBody = { held: () => bytes.length, drop: () => finish(503) }
      open.add(body)
      const stopTimer = clock.after(bodyMs, () => finish(408))
      let stop = (): void => {}
      const listener: BodyListener = {
        data: (piece) => {
          if (isOver) return
          const needed = length + piece.length
          if (needed > maxBytes) return finish(413)
          if (needed > bytes.length) grow(needed)
          bytes.set(piece, length)
          length = needed
          if (held > maxUnverifiedBytes) makeRoom()
        },
        end: () => finish(bytes.subarray(0, length)),
        fail: (error) => {
          if (isOver) return
          close()
          reject(error)
        },
      }
      try {
        stop = source(listener)
      } catch (error) {
        listener.fail(error)
      }

      function grow(needed: number): void {
        const larger = new Uint8Array(Math.min(maxBytes, Math.max(needed, bytes.length * 2, firstBytes)))
        larger.set(bytes.subarray(0, length))
        held += larger.length - bytes.length
        bytes = larger
      }

      function finish(result: BodyRead): void {
        if (isOver) return
        close()
        resolve(result)
      }

      function close(): void {
        isOver = true
        open.delete(body)
        held -= bytes.length
        stopTimer()
        stop()
      }
    })

  /** Drops the largest bodies first, so that the platform's small requests get through a flood. */
  function makeRoom(): void {
    for (const body of [...open].sort((a, b) => b.held() - a.held())) {
      if (held <= maxUnverifiedBytes) return
      body.drop()
    }
  }
}

export function nodeBody(request: IncomingMessage): BodySource {
  return ({ data, end, fail }) => {
    // An earlier reader has consumed the body. It reads as empty, so its signature check fails.
    if (request.readableEnded || request.destroyed) queueMicrotask(end)
    const onClose = (): void => fail(new Error('The client disconnected before the whole body arrived.'))
    request.on('data', data).on('end', end).on('error', fail).on('close', onClose)
    return () => void request.off('data', data).off('end', end).off('error', fail).off('close', onClose).pause()
  }
}

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
