import { safeOnError } from '../error.ts'
import { createOpenCode } from '../source/detect.ts'
import { type Address, toAddress } from '../source/http/address.ts'
import type { Client } from './client.ts'
import { connectSource } from './connect-source.ts'
import { type ConnectOptions, toCallSettings, toSettings } from './options.ts'

/** Connects to a server with one event stream, shared by all sessions. Throws only `invalid`, for invalid options. */
export function connect(options: ConnectOptions = {}): Client {
  const { clock, random, onError } = toSettings(options)
  const address = toAddress(options)
  const source = createOpenCode({ ...toCallSettings(options), address, clock, random, onError: safeOnError(onError) })
  const opencode = connectSource(source, options)
  connectedTo.set(opencode, { ...address, directory: options.directory })
  return opencode
}

/** The server of a connection, and the directory of its new sessions. */
export interface ConnectedTo extends Address {
  readonly directory: string | undefined
}

const connectedTo = new WeakMap<object, ConnectedTo>()

/** Where a connection leads. Undefined for one that `connect` did not make. */
export function serverOf(opencode: object): ConnectedTo | undefined {
  return connectedTo.get(opencode)
}
