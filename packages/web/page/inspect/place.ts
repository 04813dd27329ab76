/** Where the reader is, as the address keeps it: `#<token>/<frame>/<reply>`. Frames count from 1. */
export interface Place {
  readonly token: string
  /** Undefined if the address names none. */
  readonly moment: number | undefined
  /** The position of the reply among those of the recording. Undefined for the one that changed last. */
  readonly reply: number | undefined
}

export function readPlace(): Place {
  const [token = '', moment = '', reply = ''] = location.hash.slice(1).split('/')
  return { token, moment: numberIn(moment), reply: numberIn(reply) }
}

/** Keeps the place in the address, so that it can be shared and reloaded. */
export function writePlace(token: string, moment: number, reply: number | undefined): void {
  const place = `#${token}/${moment + 1}${reply === undefined ? '' : `/${reply + 1}`}`
  if (place !== location.hash) history.replaceState(null, '', place)
}

function numberIn(text: string): number | undefined {
  return /^\d{1,9}$/.test(text) && text !== '0' ? Number(text) - 1 : undefined
}
