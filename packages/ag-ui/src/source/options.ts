import type { Clock, OnError } from '@reply/core'
import type { AgUiResumeEntry } from './interrupt.ts'

/** What `agUi` sends for each run: `RunAgentInput` of AG-UI. */
export interface AgUiInput {
  /** The conversation. Its id is that of the session. */
  readonly threadId: string
  /** This run. */
  readonly runId: string
  /** The run of the thread before this one. Absent for the first run. */
  readonly parentRunId?: string | undefined
  /** The agent's state as its last run left it. `{}` at first. */
  readonly state?: unknown
  /** The whole conversation, in order. */
  readonly messages: readonly unknown[]
  /** Empty: reply has no tools of a front end. */
  readonly tools: readonly unknown[]
  /** Empty. */
  readonly context: readonly unknown[]
  /** Those of the options. */
  readonly forwardedProps?: unknown
  /** The answers to all interrupts of the run before. Absent for a prompt. */
  readonly resume?: readonly AgUiResumeEntry[] | undefined
}

/** What an agent in your process returns: an observable, as those of `@ag-ui/client`, or any async iterable, with AG-UI's events. */
export type AgUiStream =
  | AsyncIterable<unknown>
  | {
      subscribe(observer: { next: (event: unknown) => void; error: (error: unknown) => void; complete: () => void }): {
        unsubscribe(): void
      }
    }

/** Options of `agUi` for an agent at an address, and for one in your process. */
interface CommonOptions {
  /**
   * Whether the agent keeps the messages of each thread itself. A session then goes on after a restart of your program. Otherwise it
   * is `gone` then, because the conversation was kept in memory. Default: `false`.
   */
  readonly keepsThreads?: boolean | undefined
  /** Passed to the agent with each run, for what only it understands. Default: `{}`. */
  readonly forwardedProps?: Readonly<Record<string, unknown>> | undefined
  /**
   * Receives each event as the agent sent it, with the session, also those that have no place in a reply, for example `CUSTOM` and
   * `STATE_DELTA`. Its exceptions go to `onError`. Default: none.
   */
  readonly onEvent?: ((event: unknown, sessionID: string) => void) | undefined
  /**
   * Receives errors that stop nothing: malformed and unknown events, each unknown type once. Default: ignored.
   */
  readonly onError?: OnError | undefined
  /** How long a request waits for its response to begin, in ms. A prompt waits at most 30,000. Default: 25,000. */
  readonly responseMs?: number | undefined
  /**
   * After how long without data a stream counts as broken, in ms. Default: 300,000, because Node's own `fetch` waits no longer. For
   * tools that take longer, pass a `fetch` with another limit, too.
   */
  readonly silenceMs?: number | undefined
  /** Default: `systemClock`. Pass another one in tests. */
  readonly clock?: Clock | undefined
}

/** An AG-UI agent at an address. */
export interface AgUiServerOptions extends CommonOptions {
  /** Where the agent takes runs, by POST. */
  readonly url: string
  /** Sent with each request, for example `authorization`. Their values never appear in errors. Default: none. */
  readonly headers?: Readonly<Record<string, string>> | undefined
  /** Default: the global one. */
  readonly fetch?: typeof fetch | undefined
  /** Absent: the agent is at an address. */
  readonly agent?: undefined
}

/** An AG-UI agent in your process. */
export interface AgUiAgentOptions extends CommonOptions {
  /** The agent, for example a `MastraAgent` or an `HttpAgent`. Its `run` is called for each prompt, and for the answers to interrupts. */
  readonly agent: {
    run(input: AgUiInput, options: { readonly signal: AbortSignal }): AgUiStream | Promise<AgUiStream>
  }
  /** Absent: the agent is in your process. */
  readonly url?: undefined
}

/** An AG-UI agent: at an address, or in your process. */
export type AgUiOptions = AgUiServerOptions | AgUiAgentOptions
