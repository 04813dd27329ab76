import { Worker } from 'node:worker_threads'
import { amrSeconds, opusSeconds, wavSeconds } from './audio.ts'

/** Runs in a worker, because a large or damaged file takes seconds, in which nothing else would happen here. */
const script = `
const { parentPort, workerData } = require('node:worker_threads')
const { library, bytes } = workerData
import(library)
  .then(async ({ parseBuffer }) => (await parseBuffer(bytes, undefined, { duration: true, skipCovers: true })).format.duration)
  .catch(() => undefined)
  .then((seconds) => parentPort.postMessage(seconds))
`

/** The memory of the worker, in MiB, without that of the file. */
const mostMemory = 256

/**
 * Resolves with how long audio is, in seconds, as the file tells it. Undefined if it doesn't tell, or if the signal aborts. Recordings
 * that a browser streams in WebM don't, for example. Never rejects.
 */
export async function audioSeconds(bytes: Uint8Array, signal: AbortSignal): Promise<number | undefined> {
  const found = opusSeconds(bytes) ?? wavSeconds(bytes.subarray(0, 32), bytes.length) ?? amrSeconds(bytes)
  if (found !== undefined || signal.aborted) return found
  const seconds = await parsedSeconds(bytes, signal).catch(() => undefined)
  return typeof seconds === 'number' && seconds > 0 && Number.isFinite(seconds) ? seconds : undefined
}

/** Resolves with the length that the library finds in a file. Rejects if the worker fails. */
async function parsedSeconds(bytes: Uint8Array, signal: AbortSignal): Promise<unknown> {
  // `require.resolve` finds no package that can only be imported, on Node 22.0 to 22.9.
  const library = import.meta.resolve('music-metadata')
  const worker = new Worker(script, {
    eval: true,
    env: {},
    workerData: { library, bytes },
    resourceLimits: { maxOldGenerationSizeMb: mostMemory },
  })
  const end = (): void => void worker.terminate()
  signal.addEventListener('abort', end, { once: true })
  try {
    return await new Promise<unknown>((resolve, reject) => {
      worker.on('message', resolve)
      worker.on('error', reject)
      worker.on('exit', () => resolve(undefined))
    })
  } finally {
    signal.removeEventListener('abort', end)
    await worker.terminate()
  }
}
