/** The Cloud API's limits. [docs] is on Meta's pages. [chosen] is our own number, because none is known. */
export const cloudLimits = {
  /** UTF-16 units of a text. [docs] */
  text: 4096,
  /** UTF-16 units above reply buttons. [docs] */
  buttonsBody: 1024,
  /** UTF-16 units above a list, if the server accepts that many. [docs] */
  listBody: 1024,
  /** Reply buttons, their titles and ids. [docs] */
  buttons: { most: 3, title: 20, id: 256 },
  /** Rows of a list in all sections, their titles, descriptions and ids, and the button that opens it. [docs] */
  rows: { most: 10, title: 24, description: 72, id: 200, button: 20 },
  /** Characters of `biz_opaque_callback_data`. [docs] */
  callbackData: 512,
  /** UTF-16 units below a document. [docs] */
  caption: 1024,
  /** Bytes of a picture. [docs] */
  image: 5 * 1024 * 1024,
  /** Bytes of a document. [docs] */
  document: 100 * 1024 * 1024,
  /** One message to the same person. The real API also allows bursts, and counts them against the time after. [docs] */
  pair: { count: 1, perMs: 6000 },
  /** Messages from one number. [docs] */
  number: { count: 80, perMs: 1000 },
  /** Time after a person's last message. [docs] */
  windowMs: 86_400_000,
  /** How long "typing…" shows. [docs] */
  typingMs: 25_000,
  /**
   * Delay between two webhook attempts, doubled each time, and their number: Meta continues for days [docs]. [chosen]
   */
  webhook: { firstMs: 1000, attempts: 5 },
} as const

/** Media types of pictures. [docs] */
export const imageTypes: ReadonlySet<string> = new Set(['image/jpeg', 'image/png'])

/** Media types of documents. Texts other than plain ones are refused. [docs] */
export const documentTypes: ReadonlySet<string> = new Set([
  'text/plain',
  'application/pdf',
  'application/msword',
  'application/vnd.ms-excel',
  'application/vnd.ms-powerpoint',
  'application/vnd.openxmlformats-officedocument.wordprocessingml.document',
  'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet',
  'application/vnd.openxmlformats-officedocument.presentationml.presentation',
])
