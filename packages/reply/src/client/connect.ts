import { type ConnectOptions, toCallSettings, toSettings } from '../drive/options.ts'
import { safeOnError } from '../error.ts'
import { createOpenCode } from '../source/detect.ts'
import { type Address, toAddress } from '../source/http/address.ts'
import type { Client } from './client.ts'
import { connectSource } from './connect-source.ts'

/**
 * Connects to an OpenCode server with one event stream, which all sessions share. Throws only for invalid options, with
 * `invalid`.
 */
export function connect(options: ConnectOptions = {}): Client {
  const { clock, random, onError } = toSettings(options)
  const address = toAddress(options)
  const source = createOpenCode({ ...toCallSettings(options), address, clock, random, onError: safeOnError(onError) })
  const opencode = connectSource(source, options)
  connectedTo.set(opencode, { ...address, directory: options.directory })
  return opencode
}

/** The address of a connection's server, and the directory of new sessions. */
export interface ConnectedTo extends Address {
  readonly directory: string | undefined
}

const connectedTo = new WeakMap<object, ConnectedTo>()

/** Returns the server of a connection. Undefined unless `connect` made the connection. */
export function serverOf(opencode: object): ConnectedTo | undefined {
  return connectedTo.get(opencode)
}
