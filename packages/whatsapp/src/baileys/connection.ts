import type { InboundFile } from '@reply/sink'
import { type BridgeConnection, type ChannelHost, createNotes, PortError, sinkOptionsOf } from '@reply/sink/channel'
import { type CheckedChannel, createInboundMonitor, type DownloadLimits, tooLargeError } from '@reply/sink/internal'
import type { BaileysConfig } from '../config.ts'
import { WhatsAppError } from '../error.ts'
import { renderWhatsApp } from '../render.ts'
import { baileysChannel } from './channel.ts'
import { toFileRef } from './inbound.ts'
import type { BaileysLibrary, BaileysLogin } from './link.ts'
import { createLink } from './link.ts'
import { createBaileysPort } from './port.ts'

/** Reads the login, without a connection: a second one would end the first. */
export async function checkBaileys({ auth }: BaileysConfig, library: BaileysLibrary): Promise<CheckedChannel> {
  const number = (await library.login(auth)).number()
  if (number !== undefined) return { account: `+${number}` }
  const cure = 'Start once: a code appears, which you enter on the phone.'
  throw new WhatsAppError('unlinked', `No device is linked in ${auth}. ${cure}`)
}

/** How old a message may be that comes when the device is connected again, in ms: a bridge knows ids for two days. */
const maxAgeMs = 172_800_000

/** A linked device as a channel of a bridge. It has no buttons and no menu of commands. */
export async function connectBaileys(
  config: BaileysConfig,
  host: ChannelHost,
  library: BaileysLibrary,
): Promise<BridgeConnection> {
  const { clock, onInbound, onError } = host
  const { auth, number } = config
  const channel = baileysChannel({ onInbound, onError, clock, onlyFiles: true, maxAgeMs })
  const { source } = channel
  const reload = async (): Promise<BaileysLogin> => await library.login(auth)
  const monitor = createInboundMonitor(host)
  const link = createLink({ login: await reload(), reload, number, channel, onError, monitor, clock })
  const notes = createNotes({
    client: source,
    clock,
    writerOf: ({ id }) => ({ port: createBaileysPort({ socket: source, jid: id, clock }), render: renderWhatsApp }),
  })
  return {
    ...notes,
    // Baileys confirms a message before it passes it on.
    deliversOnce: true,
    start: async () => link.start(),
    stop: async () => {
      link.stop()
      await channel.stop()
    },
    sinkFor: (at, options) => channel.sinkFor(at, sinkOptionsOf(config, host, options)),
    download: (file, limits) => download(file, limits, library),
  }
}

async function download(
  { ref, name, size = 0 }: InboundFile,
  { maxBytes, signal }: DownloadLimits,
  library: BaileysLibrary,
): Promise<Uint8Array> {
  const what = `file ${name}`
  const file = toFileRef(ref)
  if (!file) throw new PortError('refused', `${what}: it is not a file of WhatsApp.`)
  if (size > maxBytes) throw tooLargeError(what, maxBytes)
  const chunks: Uint8Array[] = []
  let length = 0
  try {
    for await (const chunk of await library.download(file)) {
      signal?.throwIfAborted()
      length += chunk.length
      if (length > maxBytes) throw tooLargeError(what, maxBytes)
      chunks.push(chunk)
    }
  } catch (error) {
    if (error instanceof PortError || signal?.aborted) throw error
    throw new PortError('gone', `${what}: WhatsApp does not give it any more. Send it again.`)
  }
  return Buffer.concat(chunks)
}
