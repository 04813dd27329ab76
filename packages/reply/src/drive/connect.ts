import { safeOnError } from '../error.ts'
import { createOpenCode } from '../source/detect.ts'
import { toAddress } from '../source/http/address.ts'
import { connectSource } from './connect-source.ts'
import type { OpenCode } from './opencode.ts'
import { type ConnectOptions, toCallSettings, toSettings } from './options.ts'

/** Connects to a server with one event stream, shared by all sessions. Throws only `invalid`, for invalid options. */
export function connect(options: ConnectOptions = {}): OpenCode {
  const { clock, random, onError } = toSettings(options)
  const source = createOpenCode({
    ...toCallSettings(options),
    address: toAddress(options),
    clock,
    random,
    onError: safeOnError(onError),
  })
  return connectSource(source, options)
}
