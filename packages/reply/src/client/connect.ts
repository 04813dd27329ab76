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
  const client = connectSource(source, options)
  connectedTo.set(client, { ...address, directory: options.directory })
  return client
}

/** The address of a connection's server, and the directory of new sessions. */
export interface ConnectedTo extends Address {
  readonly directory: string | undefined
}

const connectedTo = new WeakMap<object, ConnectedTo>()

/** The address and the directory that a client was connected with. Undefined unless `connect` made the client. */
export function serverOf(client: object): ConnectedTo | undefined {
  return connectedTo.get(client)
}
