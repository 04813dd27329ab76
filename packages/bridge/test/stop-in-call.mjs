import { existsSync } from 'node:fs'
import http from 'node:http'
import process from 'node:process'

/*
 * Loaded into a bridge with `--import`. Stops the process right before it makes the call that STOP_IN names, as
 * "editMessageText:2" for the second of them, once the file STOP_IF exists: its last check is over by then, and nothing
 * is sent yet.
 */
const { STOP_IN = '', STOP_IF = '' } = process.env
const [name = '', nth] = STOP_IN.split(':')
let left = Number(nth)

function meet(address) {
  if (!String(address).includes(name) || !existsSync(STOP_IF)) return
  left -= 1
  if (left === 0) process.kill(process.pid, 'SIGSTOP')
}

// grammY's way.
const { request } = http
http.request = (options, ...rest) => {
  meet(options.path ?? options)
  return request(options, ...rest)
}
// The server's client's.
const { fetch } = globalThis
globalThis.fetch = async (input, init) => {
  if ((init?.method ?? input.method) === 'POST') meet(input.url ?? input)
  return await fetch(input, init)
}
