import { isAt } from '../../decode/json-text.ts'

const idStart = '{"id":"'
const created = '","created":'
const typeStart = ',"type":"'
/** What a session stores is counted: such a frame has to be read, whatever its type. */
const count = '"durable"'
const quote = 34
const letterD = 100

/**
 * The type of a frame that stores nothing and has nothing but an id and a time before its type. Undefined for all other
 * frames. One in seven of a server's frames concerns no reply, and need not be parsed to know that.
 */
export function typeOfUnstored(data: string): string | undefined {
  const idEnd = data.indexOf('"', idStart.length)
  const timeEnd = data.indexOf(',', idEnd + created.length)
  const start = timeEnd + typeStart.length
  // Tells most other frames, at less than the comparisons below.
  if (data.charCodeAt(start - 1) !== quote) return undefined
  const end = data.indexOf('"', start)
  // Where servers write what is stored.
  if (data.charCodeAt(end + 3) === letterD && isAt(data, end + 2, count)) return undefined
  if (!isAt(data, timeEnd, typeStart) || !isAt(data, 0, idStart) || !isAt(data, idEnd, created)) return undefined
  return data.includes(count, end) ? undefined : data.slice(start, end)
}
