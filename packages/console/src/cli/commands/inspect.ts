import { existsSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { basename } from 'node:path'
import { record as recorder } from '@reply/core'
import { counted } from '@reply/core/show'
import type { InspectSource } from '@reply/web'
import type { ChannelLog } from '@reply/web/inspect'
import { loadChannels } from '../../inspect/channels.ts'
import { createGrowingRecording } from '../../inspect/growing-recording.ts'
import { playChannel } from '../../inspect/play-channel.ts'
import { playTerminal, terminal } from '../../inspect/play-terminal.ts'
import { redactedRecording } from '../../inspect/redacted.ts'
import { openServer } from '../connection.ts'
import { ConsoleError } from '../error.ts'
import { EXIT } from '../exit-code.ts'
import { listenForExit } from '../exit-signals.ts'
import { loadWeb, portError } from '../load-web.ts'
import { noteWriter } from '../output.ts'
import { unwritable } from '../output-errors.ts'
import type { ProcessIO } from '../process-io.ts'
import { recordingBytes } from '../recording-file.ts'
import { type ServerOptions, shownUrl } from '../server-url.ts'

/** The options of `reply inspect`. */
export interface InspectCommandOptions extends Pick<ServerOptions, 'directory'> {
  /** Write the inspector of the recording to this HTML file, with secrets redacted, and exit. */
  readonly html?: string | undefined
  /** Overwrite an existing HTML file. */
  readonly force?: boolean | undefined
  /** Default: a free one. */
  readonly port?: number | undefined
}

/** How much of a live stream is kept, in UTF-16 units. */
const mostUnits = 64 * 1024 * 1024

/**
 * Shows a recording in the browser with all that became of each frame, or a live server, which it records meanwhile. Serves the
 * page on this computer until Control-C, and then resolves with 0. With `html` it writes one file instead.
 */
export async function inspect(
  target: string | undefined,
  options: InspectCommandOptions,
  io: ProcessIO,
): Promise<number> {
  await loadWeb('reply inspect')
  const isServer = target === undefined || /^https?:\/\//.test(target)
  if (options.html !== undefined) {
    if (isServer)
      throw new ConsoleError('usage', '--html needs a recording. Make one of a server with `reply record FILE`.')
    return await writeHtml(target, options.html, options.force === true, io)
  }
  return isServer ? await inspectServer({ ...options, url: target }, io) : await inspectFile(target, options, io)
}

/** Serves the page of a file. */
async function inspectFile(file: string, { port }: InspectCommandOptions, io: ProcessIO): Promise<number> {
  const bytes = await bytesOf(file, io)
  const source = await sourceOf({
    name: nameOf(file),
    isLive: false,
    pieces: async function* () {
      yield bytes
    },
    bytes: () => bytes,
  })
  const exit = listenForExit(io, { interrupted: () => EXIT.done })
  return await serve(source, port, io, exit)
}

/** Records a server, and serves the page of what was recorded so far. */
async function inspectServer(options: InspectCommandOptions & ServerOptions, io: ProcessIO): Promise<number> {
  const note = noteWriter(io, {})
  const recording = createGrowingRecording(mostUnits, () =>
    note(`${counted(mostUnits, 'character')} are recorded. What follows is not shown: start again`),
  )
  const write = recorder({ write: recording.write })
  const exit = listenForExit(io, { interrupted: () => EXIT.done })
  let opened: Awaited<ReturnType<typeof openServer>> | undefined
  try {
    opened = await openServer(options, io, note, {
      missed: () => ', events sent in between are not shown',
      onFrame: (data, at) => write(data, at),
    })
    opened.watch(options.directory === undefined ? {} : { directory: options.directory }, { observe: () => [] })
    const source = await sourceOf({
      name: shownUrl(options, io.env),
      isLive: true,
      pieces: recording.pieces,
      bytes: () => new TextEncoder().encode(recording.text()),
    })
    return await serve(source, options.port, io, exit)
  } finally {
    await opened?.close()
    write.end()
    recording.end()
  }
}

/** Serves the page until the command should end. */
async function serve(
  source: InspectSource,
  port: number | undefined,
  io: ProcessIO,
  exit: ReturnType<typeof listenForExit>,
): Promise<number> {
  const { serveInspector } = await loadWeb('reply inspect')
  const note = noteWriter(io, {})
  const onError = (error: unknown): void => note(error instanceof Error ? error.message : String(error))
  const pages = await serveInspector(source, { port, onError }).catch((cause: unknown) => {
    exit.stop()
    throw portError(port, cause)
  })
  try {
    note(`inspecting ${source.name}. Press Control-C to stop`)
    note('Open this address. Everyone who has it can see the recording:')
    // Not wrapped, so that a terminal links it as a whole.
    io.stdout.write(`${pages.url}\n`)
    return await exit.code
  } finally {
    exit.stop()
    await pages.close()
  }
}

/** A recording to show, and its bytes so far, for the channels. */
interface Shown extends Pick<InspectSource, 'name' | 'isLive' | 'pieces'> {
  readonly bytes: () => Uint8Array
}

/** Adds the channels that are installed. A recording that is whole is played to each once. */
async function sourceOf({ name, isLive, pieces, bytes }: Shown): Promise<InspectSource> {
  const channels = await loadPlayers()
  const logs = new Map<string, Promise<ChannelLog>>()
  return {
    name,
    isLive,
    pieces,
    channels: channels.map(({ name: id, title }) => ({ name: id, title })),
    channel: async (wanted) => {
      const channel = channels.find((one) => one.name === wanted)
      return channel && (await logOf(channel))
    },
  }

  function logOf(channel: Player): Promise<ChannelLog> {
    const known = isLive ? undefined : logs.get(channel.name)
    const log = known ?? channel.play(bytes())
    if (!isLive) logs.set(channel.name, log)
    return log
  }
}

/** Something that a recording can be played to. */
interface Player {
  readonly name: string
  readonly title: string
  play(recording: Uint8Array): Promise<ChannelLog>
}

/** The channels that are installed, and the terminal. */
async function loadPlayers(): Promise<readonly Player[]> {
  const channels = await loadChannels()
  return [
    ...channels.map((channel) => ({
      name: channel.name,
      title: channel.title,
      play: (recording: Uint8Array) => playChannel(recording, channel),
    })),
    { ...terminal, play: playTerminal },
  ]
}

/** Writes the inspector of a recording as one HTML file, with secrets redacted. */
async function writeHtml(file: string, html: string, force: boolean, io: ProcessIO): Promise<number> {
  if (!force && existsSync(html))
    throw new ConsoleError('usage', `${html} already exists. Use another name or --force.`)
  const { inspectFile: htmlOf } = await import('@reply/web')
  const { readFrames } = await import('@reply/web/inspect')
  const recording = redactedRecording(await bytesOf(file, io), readFrames)
  const bytes = new TextEncoder().encode(recording)
  const logs: ChannelLog[] = []
  for (const player of await loadPlayers()) logs.push(await player.play(bytes))
  const text = htmlOf({ name: nameOf(file), recording, logs })
  try {
    await writeFile(html, text)
  } catch (cause) {
    throw unwritable(html, cause)
  }
  noteWriter(
    io,
    {},
  )(`wrote ${html}, with secrets redacted. Read it before you share it: only secrets of known forms are found`)
  return EXIT.done
}

/** Reads a whole recording. Throws `unreadable` if it has no frames. */
async function bytesOf(file: string, io: ProcessIO): Promise<Uint8Array> {
  const pieces: Uint8Array[] = []
  for await (const piece of recordingBytes(file, io.stdin)) pieces.push(piece)
  const bytes = Buffer.concat(pieces)
  const { openRecording } = await import('@reply/web/inspect')
  const opened = openRecording(bytes.subarray(0, 256 * 1024))
  if (
    Array.from({ length: opened.length }, (_, index) => opened.frame(index)).every(({ events }) => events.length === 0)
  )
    throw new ConsoleError(
      'unreadable',
      `${file} is not a recording of an event stream. Make one with \`reply record FILE\`.`,
    )
  return bytes
}

function nameOf(file: string): string {
  return file === '-' ? 'standard input' : basename(file)
}
