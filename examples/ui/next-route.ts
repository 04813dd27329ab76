// useChat in Next.js: save it as app/api/chat/[[...path]]/route.ts in a server that keeps running ("next start").
import { handle } from './chat.ts'

/** Sends a message or answers, and streams the reply. */
export const POST = handle
/** Streams a reply that is running, at /api/chat/<id>/stream. */
export const GET = handle
/** Stops the run of /api/chat/<id>. */
export const DELETE = handle
