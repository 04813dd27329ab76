/** What goes wrong with a call. */
export type TelegramFault = ToCalls &
  /** 429, and the chat that the call named is frozen for as long, as it is after a real one. */
  (
    | { readonly type: 'rate-limited'; readonly retryAfterS: number }
    /**
     * An answer that refuses; the description has a usual one for the code. Nothing was done, unless it `isTaken`: a gateway
     * that gives up on a server which goes on.
     */
    | { readonly type: 'status'; readonly code: number; readonly description?: string; readonly isTaken?: boolean }
    /** 502 and a web page instead of JSON: nothing was done. */
    | { readonly type: 'html' }
    /** The connection breaks before the call is taken. */
    | { readonly type: 'refuse' }
    /** The call is taken and the connection breaks before the answer: did it happen or not? */
    | { readonly type: 'accept-then-drop' }
    /** Not taken, and never answered: the client has to give up. */
    | { readonly type: 'stall' }
    /** Taken, and never answered. */
    | { readonly type: 'accept-then-stall' }
    /** Taken and answered so much later, by the clock. */
    | { readonly type: 'delay'; readonly delayMs: number }
  )

/** Which calls a fault befalls. */
interface ToCalls {
  /** Default: any but `getUpdates`. */
  readonly method?: string | RegExp
  /** Default: any, and calls without one. */
  readonly chatId?: number
  /** The first of the calls that match which it befalls, from 1. Default 1. */
  readonly nth?: number
  /** How many it befalls, one after the other. Default 1. */
  readonly times?: number
}

export interface FaultPlan {
  add(fault: TelegramFault): void
  /** What befalls this call. Every fault that matches counts it; of those that are due the first is done. */
  next(method: string, chatId: number | undefined): TelegramFault | undefined
}

export function createFaultPlan(faults: readonly TelegramFault[]): FaultPlan {
  const plan = faults.map((fault) => ({ fault, seen: 0 }))
  return {
    add: (fault) => {
      plan.push({ fault, seen: 0 })
    },
    next: (method, chatId) => {
      let due: TelegramFault | undefined
      for (const entry of plan) {
        if (!befalls(entry.fault, method, chatId)) continue
        entry.seen += 1
        const { nth = 1, times = 1 } = entry.fault
        if (entry.seen >= nth && entry.seen < nth + times) due ??= entry.fault
      }
      return due
    },
  }
}

function befalls(fault: TelegramFault, method: string, chatId: number | undefined): boolean {
  if (fault.chatId !== undefined && fault.chatId !== chatId) return false
  if (fault.method === undefined) return method !== 'getUpdates'
  return typeof fault.method === 'string' ? fault.method === method : fault.method.test(method)
}

const usual: Readonly<Record<number, string>> = {
  400: 'Bad Request',
  401: 'Unauthorized',
  403: 'Forbidden',
  404: 'Not Found',
  409: 'Conflict',
  413: 'Request Entity Too Large',
  500: 'Internal Server Error',
  502: 'Bad Gateway',
  504: 'Gateway Timeout',
}

export function describe(code: number): string {
  return usual[code] ?? `Error ${code}`
}
