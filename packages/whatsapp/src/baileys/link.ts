import type { Clock } from '@reply/core'
import { type InboundMonitor, loadClient } from '@reply/sink/internal'
import { statusOf, WhatsAppError } from '../error.ts'
import type { BaileysSocket } from './api.ts'
import type { BaileysChannel } from './channel.ts'
import type { FileRef } from './inbound.ts'

export interface LinkOptions {
  readonly login: BaileysLogin
  /** Reads the login anew. A person may have removed its folder, to link the device again. */
  readonly reload: () => Promise<BaileysLogin>
  /** The number to link, if the login has none yet. */
  readonly number: string
  readonly channel: Pick<BaileysChannel, 'setSocket'>
  readonly onError: (error: WhatsAppError) => void
  readonly monitor: InboundMonitor
  readonly clock: Clock
}

/** Keeps a device connected. */
export interface Link {
  start(): void
  stop(): void
}

/** WhatsApp wants another connection after linking. This and the codes below are Baileys' `DisconnectReason`. */
const restartRequired = 515

/** What a person has to mend, by the code that ended the connection. Everything else passes, and is tried again soon. */
const refusals: ReadonlyMap<number, string> = new Map([
  [
    401,
    'This device was unlinked on the phone. Remove the folder of the login, and enter the code that the log then says.',
  ],
  [403, 'WhatsApp has blocked this account. Open WhatsApp on the phone, and see what it says.'],
  [411, 'This account can have no linked devices. Update WhatsApp on the phone.'],
  [440, 'Another process uses the login of this device. Stop it, or link this device with a folder of its own.'],
])

/** A closed socket can't reopen, so each connection has its own. */
export function createLink({ reload, number, channel, onError, monitor, clock, ...options }: LinkOptions): Link {
  let { login } = options
  let isOn = false
  let isPairing = false
  let linked: Linked | undefined
  let stopTimer = (): void => {}
  return { start, stop }

  function start(): void {
    if (isOn) return
    isOn = true
    open()
  }

  function stop(): void {
    isOn = false
    stopTimer()
    channel.setSocket(undefined)
    linked?.end()
    linked = undefined
  }

  function open(): void {
    const used = login
    const made = used.connect({
      onLogin: () => void used.save().catch(failed),
      onUpdate: (update) => {
        if (linked === made) changed(update)
      },
    })
    linked = made
    channel.setSocket(made.socket)
  }

  function changed({ connection, qr, lastDisconnect }: LinkUpdate): void {
    if (qr !== undefined && login.number() === undefined) pair()
    if (connection === 'open') monitor.succeeded()
    if (connection === 'close' && isOn) closed(lastDisconnect?.error)
  }

  function closed(error: unknown): void {
    linked = undefined
    channel.setSocket(undefined)
    const status = statusOf(error)
    const refusal = refusals.get(status ?? 0)
    const reason = refusal === undefined ? failureOf(error) : new WhatsAppError('unauthorized', refusal)
    if (status !== restartRequired) onError(reason)
    const waitMs = refusal === undefined ? monitor.failed(reason) : monitor.refused(reason)
    stopTimer = clock.after(waitMs, () => void again(refusal !== undefined))
  }

  async function again(isNew: boolean): Promise<void> {
    try {
      if (isNew) login = await reload()
    } catch (error) {
      onError(failureOf(error))
    }
    if (isOn) open()
  }

  function pair(): void {
    if (isPairing) return
    isPairing = true
    const asked = linked?.pair(number) ?? Promise.reject(new Error('there is no connection'))
    asked.then((code) => {
      monitor.refused(new WhatsAppError('unlinked', 'This device is not linked yet. The log says which code to enter.'))
      const how = `On the phone of ${number}, open "Linked devices", "Link with phone number instead"`
      onError(new WhatsAppError('unlinked', `This device is not linked yet. ${how}, and enter ${code}.`))
    }, failed)
    asked
      .finally(() => {
        isPairing = false
      })
      .catch(() => {})
  }

  function failed(error: unknown): void {
    onError(failureOf(error))
  }
}

function failureOf(error: unknown): WhatsAppError {
  const words = error instanceof Error ? error.message : String(error)
  return new WhatsAppError('updates', `The connection to WhatsApp failed: ${words}`)
}

/** The part of Baileys that makes connections, so that tests can have another. */
export interface BaileysLibrary {
  /** Opens a folder with a login; an empty one is a device that is not linked yet. */
  login(folder: string): Promise<BaileysLogin>
  /** Reads and decrypts a file. */
  download(file: FileRef): Promise<AsyncIterable<Uint8Array>>
}

/** A login. */
export interface BaileysLogin {
  /** The account's number. Undefined before the device is linked. */
  number(): string | undefined
  save(): Promise<void>
  /** Makes a socket, which connects by itself. */
  connect(listener: LinkListener): Linked
}

/** What happens to a connection. */
export interface LinkListener {
  readonly onLogin: () => void
  readonly onUpdate: (update: LinkUpdate) => void
}

/** A change of a connection, under Baileys' names. */
interface LinkUpdate {
  readonly connection?: string | undefined
  readonly qr?: string | undefined
  readonly lastDisconnect?: { readonly error?: unknown } | undefined
}

/** A socket that connects, or is connected. */
interface Linked {
  readonly socket: BaileysSocket
  /** Resolves with the code that a person enters on the phone. */
  pair(number: string): Promise<string>
  end(): void
}

const ignore = (): void => {}

/** Baileys writes its log to the console otherwise. */
const silent = {
  level: 'silent',
  child: () => silent,
  trace: ignore,
  debug: ignore,
  info: ignore,
  warn: ignore,
  error: ignore,
}

/** Loads the package `baileys`. */
export async function loadBaileys(): Promise<BaileysLibrary> {
  const { makeWASocket, useMultiFileAuthState, downloadContentFromMessage } = await loadClient(
    'baileys',
    () => import('baileys'),
  )
  return {
    download: async ({ kind, mediaKey, directPath, url }) => {
      const place = { ...(directPath && { directPath }), ...(url && { url }) }
      return await downloadContentFromMessage({ mediaKey: Buffer.from(mediaKey, 'base64'), ...place }, kind)
    },
    login: async (folder) => {
      const { state, saveCreds } = await useMultiFileAuthState(folder)
      return {
        number: () => (state.creds.registered ? state.creds.me?.id.split(/[:@]/)[0] : undefined),
        save: saveCreds,
        connect: ({ onLogin, onUpdate }) => {
          const socket = makeWASocket({ auth: state, logger: silent })
          socket.ev.on('creds.update', onLogin)
          socket.ev.on('connection.update', onUpdate)
          return { socket, pair: (number) => socket.requestPairingCode(number), end: () => socket.end(undefined) }
        },
      }
    },
  }
}
