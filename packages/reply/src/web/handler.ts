import type { Clock } from '../clock.ts'
import type { Reply } from '../reply.ts'
import type { WebHandler, WebHandlerOptions } from './options.ts'
import type { ReaderProjection } from './reader.ts'
import type { Readers } from './readers.ts'
import { Refusal, refusalResponse, toRefusal } from './refusal.ts'
import { refuseForeign } from './request.ts'

/** The part of a handler that differs by protocol. */
export interface WebEndpoint {
  /** The refusal of a session that doesn't exist, or is not the person's. They are not told which. */
  readonly unknown: () => Refusal
  /** The methods of the requests that it answers. */
  readonly methods: readonly string[]
  /** The open requests. */
  readonly readers: Readers
  /** Answers a request that passed the checks. Throws a `Refusal`, or what failed. */
  readonly respond: (request: Request) => Promise<Response>
}

/** Creates a handler that checks what every request needs, and answers with a refusal if something throws. */
export function createWebHandler(
  { unknown, methods, readers, respond }: WebEndpoint,
  { allowedOrigins = [], onError }: Pick<WebHandlerOptions, 'allowedOrigins' | 'onError'>,
): WebHandler {
  const handle = async (request: Request): Promise<Response> => {
    try {
      readers.requireOpen()
      requireMethod(request, methods)
      refuseForeign(request, allowedOrigins)
      return await respond(request)
    } catch (error) {
      return refusalResponse(toRefusal(error, { unknown, onError }))
    }
  }
  return Object.assign(handle, { close: readers.close })
}

function requireMethod({ method }: Request, methods: readonly string[]): void {
  if (methods.includes(method)) return
  const wanted = `${methods.slice(0, -1).join(', ')} or ${methods.at(-1)}`
  throw new Refusal(405, `${method.slice(0, 20)} is not supported. Use ${wanted}.`, { allow: methods.join(', ') })
}

/** Returns a projection that knows the time, which is in ms since the epoch. */
export function withClock(
  projection: { next(reply: Reply, now: number): readonly unknown[]; readonly ended: boolean },
  clock: Clock,
): ReaderProjection {
  return {
    next: (reply) => projection.next(reply, clock.now()),
    get ended() {
      return projection.ended
    },
  }
}
