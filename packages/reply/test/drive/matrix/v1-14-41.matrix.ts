import { testPlaces } from './place.ts'
import { testVersion } from './version.ts'

testVersion('1.14.41')
testPlaces('1.14.41')
