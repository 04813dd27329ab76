import type { ChannelLog } from '../../src/inspect/channel.ts'
import { readLine } from '../../src/inspect/frame-line.ts'
import { createRecording, type OpenedRecording } from '../../src/inspect/recording.ts'
import { texts } from './texts.ts'

/** What the page shows, and where the chats come from. */
export interface InspectData {
  readonly name: string
  readonly recording: OpenedRecording
  /** The channels that can be shown: their names, and those for people. Empty if there are none. */
  readonly channels: readonly { readonly name: string; readonly title: string }[]
  /** Plays the recording to a channel. */
  readonly channel: (name: string) => Promise<ChannelLog>
  /** `lost`: the connection to the server broke, so the rest is missing. */
  readonly state: 'reading' | 'live' | 'whole' | 'lost'
}

/** What a file that was saved has in itself: gzipped JSON, as base64. */
interface SavedFile {
  readonly name: string
  readonly lines: readonly string[]
  readonly logs: readonly ChannelLog[]
}

/** How long frames are read at once, in ms. The page can be used meanwhile. */
const sliceMs = 25
/** How often a page that reads shows more of it, in ms. */
const showEveryMs = 250

/** Reads the recording, from this file if it has one, else from the server. Calls back as it grows. Rejects with a text for people. */
export async function loadData(token: string, onData: (data: InspectData) => void): Promise<void> {
  const saved = document.getElementById('saved')?.textContent?.trim()
  if (saved) await loadSaved(saved, onData)
  else await loadServed(token, onData)
}

async function loadSaved(text: string, onData: (data: InspectData) => void): Promise<void> {
  const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0))
  const unzipped = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('gzip'))
  const { name, lines, logs }: SavedFile = JSON.parse(await new Response(unzipped).text())
  const recording = createRecording()
  const data = {
    name,
    recording,
    channels: logs.map((log) => ({ name: log.name, title: log.title })),
    channel: async (wanted: string) => {
      const log = logs.find((one) => one.name === wanted)
      if (!log) throw new Error(texts.noChannels)
      return log
    },
  }
  await readSliced(lines, recording, () => onData({ ...data, state: 'reading' }))
  recording.end()
  onData({ ...data, state: 'whole' })
}

async function loadServed(token: string, onData: (data: InspectData) => void): Promise<void> {
  if (token === '') throw new Error(texts.noToken)
  const get = async (path: string): Promise<Response> => {
    const response = await fetch(`../api/inspect/${path}`, { headers: { authorization: `Bearer ${token}` } })
    if (response.ok) return response
    const { error = response.statusText }: { error?: string } = await response.json().catch(() => ({}))
    throw new Error(error)
  }
  const about: { name: string; isLive: boolean; channels: InspectData['channels'] } = await (await get('about')).json()
  const recording = createRecording()
  const data = {
    name: about.name,
    recording,
    channels: about.channels,
    channel: async (name: string): Promise<ChannelLog> =>
      await (await get(`channels/${encodeURIComponent(name)}`)).json(),
  }
  const { body } = await get('frames')
  const state = about.isLive ? 'live' : 'reading'
  try {
    if (body) await readSliced(linesOf(body), recording, () => onData({ ...data, state }))
  } catch (error) {
    if (recording.length === 0) throw error
    recording.end([texts.lost])
    return onData({ ...data, state: 'lost' })
  }
  recording.end()
  onData({ ...data, state: 'whole' })
}

/** Reads the lines, and calls `onMore` now and then. */
async function readSliced(
  lines: Iterable<string> | AsyncIterable<string | undefined>,
  recording: OpenedRecording,
  onMore: () => void,
): Promise<void> {
  let started = performance.now()
  let timer: ReturnType<typeof setTimeout> | undefined
  const show = (): void => {
    timer = undefined
    onMore()
  }
  show()
  for await (const line of lines) {
    if (line !== undefined) readLine(line, recording)
    timer ??= setTimeout(show, showEveryMs)
    if (line !== undefined && performance.now() - started < sliceMs) continue
    await nextTask()
    started = performance.now()
  }
  clearTimeout(timer)
}

/** Lets the browser do what waits. A timer would take 4 ms longer. */
function nextTask(): Promise<void> {
  return new Promise((resolve) => {
    const { port1, port2 } = new MessageChannel()
    port1.onmessage = () => {
      port1.close()
      resolve()
    }
    port2.postMessage(undefined)
  })
}

/** The lines of a response. Undefined where more have to be waited for. */
async function* linesOf(body: ReadableStream<Uint8Array>): AsyncIterable<string | undefined> {
  const reader = body.getReader()
  const decoder = new TextDecoder()
  let rest = ''
  for (;;) {
    const { done, value } = await reader.read()
    if (done) return
    const lines = (rest + decoder.decode(value, { stream: true })).split('\n')
    rest = lines.pop() ?? ''
    yield* lines
    yield undefined
  }
}
