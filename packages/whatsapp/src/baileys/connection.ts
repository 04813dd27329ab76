import { createDecipheriv } from 'node:crypto'
import type { Clock } from '@reply/core'
import type { InboundFile } from '@reply/sink'
import {
  type BridgeConnection,
  type ChannelHost,
  createListening,
  createNotes,
  downloadFile,
  PortError,
  pacerOf,
  sinkOptionsOf,
} from '@reply/sink/channel'
import {
  type CheckedChannel,
  createInboundMonitor,
  createOpenTasks,
  type DownloadLimits,
  loadClient,
  tooLargeError,
} from '@reply/sink/internal'
import { chatLink } from '../chat-link.ts'
import { boomStatusOf, WhatsAppError } from '../error.ts'
import { baileysLimits } from '../limits.ts'
import { renderWhatsApp } from '../render.ts'
import type { BaileysSocket } from './api.ts'
import { type BaileysChannel, baileysChannel } from './channel.ts'
import type { BaileysConfig } from './config.ts'
import { type FileRef, phoneOnlyRef, toFileRef } from './inbound.ts'
import { createBaileysPort } from './port.ts'

/**
 * Returns the account's number from the login. Makes no connection, because a second one would end the first. Rejects with
 * `unlinked` if no device is linked yet.
 */
export async function checkBaileys({ auth }: BaileysConfig, library: BaileysLibrary): Promise<CheckedChannel> {
  const number = (await library.login(auth)).number()
  if (number !== undefined) return { account: `+${number}` }
  const cure = 'Start once: a code appears, which you enter on the phone.'
  throw new WhatsAppError('unlinked', `No device is linked in ${auth}. ${cure}`)
}

/** The parts of an encrypted file, in bytes. */
const blockBytes = 16
const checksumBytes = 10

/** The maximum age of a message from while the device was away, in ms. The bridge remembers message ids as long. */
const maxAgeMs = 172_800_000

/** Connects a linked device to a bridge. It has no buttons and no menu of commands. */
export function connectBaileys(config: BaileysConfig, host: ChannelHost, library: BaileysLibrary): BridgeConnection {
  const { clock, onInbound, onError } = host
  const channel = baileysChannel({ onInbound, onError, clock, onlyFiles: true, maxAgeMs })
  const { source } = channel
  const device = createLinkedDevice(config, host, channel, library)
  const notes = createNotes({
    client: source,
    clock,
    writerOf: ({ id }) => ({ port: createBaileysPort({ socket: source, jid: id, clock }), render: renderWhatsApp }),
  })
  const listening = createListening({
    // There is no token, and another process may be writing the login.
    check: async () => {},
    begin: device.start,
    end: async () => {
      await device.stop()
      await channel.stop()
    },
  })
  return {
    ...notes,
    ...listening,
    budgets: pacerOf(source, clock).sharedBudgets(baileysLimits),
    // Of two connections with one login, WhatsApp closes the older: Baileys' `DisconnectReason.connectionReplaced`.
    listens: 'one',
    posts: 'listener',
    post: async (note) => {
      requireStarted()
      return await notes.post(note)
    },
    edit: async (ref, note) => {
      requireStarted()
      await notes.edit(ref, note)
    },
    // Baileys confirms a message before it passes it on.
    deliversOnce: true,
    sinkFor: (at, options) => channel.sinkFor(at, sinkOptionsOf(config, host, options)),
    linkTo: ({ id }) => (id.endsWith('@g.us') ? undefined : chatLink(ownNumber())),
    download: (file, limits) => download(file, limits, library, clock),
  }

  /** Returns the account's number, which its id begins with. Undefined without a socket. */
  function ownNumber(): string | undefined {
    const socket = typeof source === 'function' ? source() : source
    return /^\d+(?=[:@])/.exec(socket?.user?.id ?? '')?.[0]
  }

  /** Throws `unreachable` while the device is stopped, so that a note doesn't wait for a connection that may never come. */
  function requireStarted(): void {
    if (device.isStarted()) return
    throw new PortError('unreachable', 'WhatsApp is connected in another process or in none: this device is stopped.')
  }
}

/** How much longer an encrypted file is than its content: padding to a block, and a checksum. */
const mostAdded = blockBytes + checksumBytes

/**
 * Reads a file. Rejects with `refused` for another channel's file and for one that only the phone can open, with `gone` if WhatsApp no
 * longer has it or it can't be decrypted, with `too-long` above `maxBytes`, and otherwise like `downloadFile`.
 */
async function download(
  { ref, name, size = 0 }: InboundFile,
  { maxBytes, signal }: DownloadLimits,
  library: BaileysLibrary,
  clock: Clock,
): Promise<Uint8Array> {
  const what = `file ${name}`
  if (ref === phoneOnlyRef)
    throw new PortError(
      'refused',
      `${what}: WhatsApp shows it on the phone alone. Send it again, and not as view-once.`,
    )
  const file = toFileRef(ref)
  if (!file) throw new PortError('refused', `${what}: it is not a file of WhatsApp.`)
  if (size > maxBytes) throw tooLargeError(what, maxBytes, size)
  const gone = (): PortError => new PortError('gone', `${what}: WhatsApp no longer has it. Send it again.`)
  const encrypted = await library.findFile(file).catch(() => {
    throw gone()
  })
  const limits = { maxBytes: maxBytes + mostAdded, signal, clock }
  const { url } = encrypted
  const bytes = await downloadFile({ url, ...limits, what, platform: 'WhatsApp', cure: 'Send it again.' })
  let content: Uint8Array
  try {
    content = encrypted.decrypt(bytes)
  } catch {
    throw gone()
  }
  if (content.length > maxBytes) throw tooLargeError(what, maxBytes, content.length)
  return content
}

/** Keeps a device connected, and pairs it if it is not linked yet. */
interface LinkedDevice {
  /** Whether it was started and not stopped since. */
  isStarted(): boolean
  /** Reads the login, which another process may have changed, and connects. Rejects if it can't be read. */
  start(): Promise<void>
  /** Disconnects, and connects no more. Resolves when the login is saved. */
  stop(): Promise<void>
}

/** WhatsApp requires a reconnect after pairing. This and the codes below are Baileys' `DisconnectReason`. */
const restartRequired = 515

/** How to fix what ended the connection, by its code. All other causes are temporary, and retried soon. */
const refusals: ReadonlyMap<number, string> = new Map([
  [
    401,
    'This device was unlinked on the phone. Delete the folder of the login, and enter the code that the log then shows.',
  ],
  [403, 'WhatsApp has blocked this account. Open WhatsApp on the phone to see why.'],
  [411, 'This account can have no linked devices. Update WhatsApp on the phone.'],
  [440, 'Another process uses the login of this device. Stop it, or link this device with a folder of its own.'],
])

/** Returns the device. Each connection needs a new socket, because a closed one can't reopen. */
function createLinkedDevice(
  { auth, number }: BaileysConfig,
  host: ChannelHost,
  channel: Pick<BaileysChannel, 'setSocket'>,
  library: BaileysLibrary,
): LinkedDevice {
  const { clock, onError } = host
  const monitor = createInboundMonitor(host)
  const saves = createOpenTasks()
  /** The present start: another object for each. Undefined while stopped. */
  let run: object | undefined
  let isPairing = false
  let current: LoginSocket | undefined
  let stopTimer = (): void => {}
  return { isStarted: () => run !== undefined, start, stop }

  /** Reads the login, and connects unless it was stopped meanwhile. */
  async function start(): Promise<void> {
    monitor.started()
    const mine = {}
    run = mine
    const login = await library.login(auth)
    if (run === mine) connectNewSocket(login)
  }

  /** Disconnects, and connects no more. The last changes of the login are saved for the next process. */
  async function stop(): Promise<void> {
    run = undefined
    stopTimer()
    channel.setSocket(undefined)
    const ended = current
    // Its end emits an update, which must not reconnect.
    current = undefined
    ended?.end()
    await saves.settled()
  }

  /**
   * Creates a socket, gives it to the channel, and follows its updates until there is another. Saves the login whenever it
   * changes, and reports a failure of that.
   */
  function connectNewSocket(login: BaileysLogin): void {
    const made = login.connect({
      onLogin: () => void saves.add(login.save().catch(reportFailure)),
      onUpdate: (update) => {
        if (current === made) handleUpdate(update, login)
      },
    })
    current = made
    channel.setSocket(made.socket)
  }

  /**
   * Follows the connection: pairs the device, or reconnects after a close. Baileys sends a `qr` while the device waits to be
   * paired, which a code can do as well.
   */
  function handleUpdate({ connection, qr, lastDisconnect }: ConnectionUpdate, login: BaileysLogin): void {
    if (qr !== undefined && login.number() === undefined) requestPairingCode()
    if (connection === 'open') monitor.succeeded()
    if (connection === 'close') scheduleReconnect(lastDisconnect?.error, login)
  }

  /**
   * Reports the error, except after pairing, and reconnects after the monitor's back-off. If a person has to fix the error,
   * the wait is longer and the login is read again.
   */
  function scheduleReconnect(error: unknown, login: BaileysLogin): void {
    current = undefined
    channel.setSocket(undefined)
    const status = boomStatusOf(error)
    const refusal = refusals.get(status ?? 0)
    const reason = refusal === undefined ? failureOf(error) : new WhatsAppError('unauthorized', refusal)
    if (status !== restartRequired) onError(reason)
    const waitMs = refusal === undefined ? monitor.failed(reason) : monitor.refused(reason)
    stopTimer = clock.after(waitMs, () => void (refusal === undefined ? connectNewSocket(login) : reconnect(login)))
  }

  /**
   * Connects with the login as it is then, unless it was stopped meanwhile: you may have deleted its folder, to link the device
   * again. Uses the old login if the new one can't be read, which is reported.
   */
  async function reconnect(oldLogin: BaileysLogin): Promise<void> {
    const mine = run
    const login = await library.login(auth).catch((error: unknown) => {
      reportFailure(error)
      return oldLogin
    })
    if (run === mine) connectNewSocket(login)
  }

  /**
   * Requests a code that links this device, and reports it through `onError`, which is where you read it. Does nothing while a
   * request is pending.
   */
  function requestPairingCode(): void {
    if (isPairing) return
    isPairing = true
    const request = current?.pair(number) ?? Promise.reject(new Error('there is no connection'))
    request.then((code) => {
      monitor.refused(
        new WhatsAppError('unlinked', 'This device is not linked yet. The log shows which code to enter.'),
      )
      const how = `On the phone of ${number}, open "Linked devices", "Link with phone number instead"`
      onError(new WhatsAppError('unlinked', `This device is not linked yet. ${how}, and enter ${code}.`))
    }, reportFailure)
    request
      .finally(() => {
        isPairing = false
      })
      .catch(() => {})
  }

  /** Reports an error of type `updates` for this reason. */
  function reportFailure(error: unknown): void {
    onError(failureOf(error))
  }
}

/** Returns the error of a connection that failed for this reason, of type `updates`. */
function failureOf(error: unknown): WhatsAppError {
  const reason = error instanceof Error ? error.message : String(error)
  return new WhatsAppError('updates', `The connection to WhatsApp failed: ${reason}`)
}

/** Whether an address is one of WhatsApp's servers for files. */
function isOfWhatsApp(address: string): boolean {
  if (!URL.canParse(address)) return false
  const { protocol, hostname } = new URL(address)
  return protocol === 'https:' && /(?:^|\.)whatsapp\.net$/.test(hostname)
}

/**
 * Decrypts a file: whole blocks of AES-256 in CBC mode, and a checksum of 10 bytes, as Baileys' `downloadEncryptedContent` does.
 * Throws for other bytes.
 */
function decryptFile(
  bytes: Uint8Array,
  { cipherKey, iv }: { readonly cipherKey: Uint8Array; readonly iv: Uint8Array },
): Uint8Array {
  const decipher = createDecipheriv('aes-256-cbc', cipherKey, iv)
  return Buffer.concat([decipher.update(bytes.subarray(0, -checksumBytes)), decipher.final()])
}

/** The part of Baileys that the bridge uses. Tests replace it. */
export interface BaileysLibrary {
  /** Opens a folder with a login. An empty folder is a device that is not linked yet. */
  login(folder: string): Promise<BaileysLogin>
  /** Finds where a file is. Rejects if it has no address of WhatsApp. */
  findFile(file: FileRef): Promise<EncryptedFile>
}

/** A file as WhatsApp stores it. */
export interface EncryptedFile {
  readonly url: string
  /** Returns the content. Throws if it was not encrypted with the key of the file. */
  readonly decrypt: (bytes: Uint8Array) => Uint8Array
}

/** The credentials of one linked device. */
export interface BaileysLogin {
  /** The account's number. Undefined before the device is linked. */
  number(): string | undefined
  /** Writes the credentials to their folder. */
  save(): Promise<void>
  /** Creates a socket, which starts to connect at once. */
  connect(listener: LinkListener): LoginSocket
}

/** Receives the events of a connection. */
export interface LinkListener {
  /** The credentials changed, so they must be saved. */
  readonly onLogin: () => void
  readonly onUpdate: (update: ConnectionUpdate) => void
}

/** A change of a connection, under Baileys' names. */
interface ConnectionUpdate {
  readonly connection?: string | undefined
  readonly qr?: string | undefined
  readonly lastDisconnect?: { readonly error?: unknown } | undefined
}

/** A socket made from a login. */
interface LoginSocket {
  readonly socket: BaileysSocket
  /** Resolves with the code that a person enters on the phone. */
  pair(number: string): Promise<string>
  /** Closes the socket. */
  end(): void
}

const ignore = (): void => {}

/** Stops Baileys from logging to the console. */
const silentLogger = {
  level: 'silent',
  child: () => silentLogger,
  trace: ignore,
  debug: ignore,
  info: ignore,
  warn: ignore,
  error: ignore,
}

/** Loads the package `baileys`. Rejects if it is not installed. */
export async function loadBaileys(): Promise<BaileysLibrary> {
  const { makeWASocket, useMultiFileAuthState, getMediaKeys, getUrlFromDirectPath } = await loadClient(
    'baileys',
    () => import('baileys'),
  )
  return {
    // Not by Baileys' `downloadContentFromMessage`: a connection that breaks ends the process, because its response has no
    // listener for errors, and one that stalls is never given up.
    findFile: async ({ kind, mediaKey, directPath, url }) => {
      const host = url !== undefined && isOfWhatsApp(url) ? new URL(url).host : undefined
      const address = directPath ? getUrlFromDirectPath(directPath, host) : url
      // A message contains the address, so anyone could send the bridge to another host.
      if (address === undefined || !isOfWhatsApp(address)) throw new Error('The file has no address of WhatsApp.')
      const keys = await getMediaKeys(Buffer.from(mediaKey, 'base64'), kind)
      return { url: address, decrypt: (bytes) => decryptFile(bytes, keys) }
    },
    login: async (folder) => {
      const { state, saveCreds } = await useMultiFileAuthState(folder)
      return {
        number: () => (state.creds.registered ? state.creds.me?.id.split(/[:@]/)[0] : undefined),
        save: saveCreds,
        connect: ({ onLogin, onUpdate }) => {
          const socket = makeWASocket({ auth: state, logger: silentLogger })
          socket.ev.on('creds.update', onLogin)
          socket.ev.on('connection.update', onUpdate)
          return { socket, pair: (number) => socket.requestPairingCode(number), end: () => socket.end(undefined) }
        },
      }
    },
  }
}
