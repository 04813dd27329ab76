import { loadClient } from '@reply/sink/internal'
import type { BaileysSocket } from './api.ts'
import type { FileRef } from './inbound/file.ts'

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
export interface LinkUpdate {
  readonly connection?: string | undefined
  readonly qr?: string | undefined
  readonly lastDisconnect?: { readonly error?: unknown } | undefined
}

/** A socket that connects, or is connected. */
export interface Linked {
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
