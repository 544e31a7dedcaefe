/** Passwords of 8 characters and more that lead the lists of leaked ones, in lower case. */
export const commonPasswords: ReadonlySet<string> = new Set(
  `
12345678 123456789 1234567890 12345678910 123456789a 123456789q 1234567891 123123123 1234512345 12341234 11111111 111111111
1111111111 00000000 000000000 0000000000 22222222 33333333 44444444 55555555 66666666 77777777 88888888 888888888 99999999 999999999
87654321 987654321 9876543210 0987654321 0123456789 123654789 147258369 147852369 159753456 789456123 741852963 963852741 321654987
112233445566 1122334455 11223344 123321123 12344321 1234554321 10203040 1020304050 12121212 121212121 13131313 10101010 20202020
01012000 01011980 01011990 19841984 19851985 19861986 19871987 20002000 20012001 20102010 20112011 69696969 31415926 314159265
password password1 password2 password3 password7 password9 password12 password11 password01 password10 password99 password123
password1234 password12345 password321 passw0rd passw0rd1 p4ssw0rd p4ssword pa55word pa55w0rd pass1234 pass12345 password! p@ssword
p@ssw0rd p@ssw0rd1 p@$$w0rd p@55w0rd passpass passport passwort passwort1 motdepasse contrasena contraseña parola123 senha123 wachtwoord
salasana haslo123 changeme changeme1 changeme123 changeit default1 letmein1 letmein12 letmein123 letmeinnow welcome1 welcome2 welcome12
welcome123 welcome1234 welcome! welcome01 welcome2u administrator admin123 admin1234 admin12345 adminadmin admin@123 administrador root1234
rootroot toortoor superuser superman superman1 supervisor test1234 test12345 testtest testtest1 testing1 testing123 tester123 temp1234
temporary guest123 guestguest demo1234 user1234 username login123 logmein1 master123 masterkey computer computer1 internet internet1
qwertyui qwertyuiop qwertyuiop1 qwerty12 qwerty123 qwerty1234 qwerty12345 qwerty123456 qwertyqwerty qwerty78 qwerty789 qwert123 qwert1234
qwer1234 qwer4321 qweqweqwe qweasdzxc qweasd123 1qaz2wsx 1qaz2wsx3edc 1qazxsw2 qazwsxedc qazwsx123 qazwsxedcrfv zaq12wsx zaq1zaq1 zaq1xsw2
1q2w3e4r 1q2w3e4r5t 1q2w3e4r5t6y 1q2w3e4r5 q1w2e3r4 q1w2e3r4t5 q1w2e3r4t5y6 1qaz1qaz 2wsx3edc 123qweasd 123qweasdzxc 123qwe123 12qwaszx
qwe123qwe qwaszx12 zxcvbnm1 zxcvbnm123 zxcvbnmm zxcvbnm, zxcvbn123 asdfghjk asdfghjkl asdfghjkl1 asdfasdf asdf1234 asdf12345 asdfgh123
asdfghj1 asdf;lkj asdqwe123 asd123asd 1234qwer 12345qwert 123456qwerty abcdefgh abcdefghi abcdefghij abcd1234 abcd12345 abcde123 abcdef123
abc12345 abc123456 abc123abc abcabcabc a1234567 a12345678 a123456789 a1b2c3d4 a1b2c3d4e5 aa123456 aa12345678 aaaaaaaa aaaaaaaaa aaaaaaaaaa
q1234567 q12345678 q123456789 z1234567 s12345678 1234567a 12345678a 123456aa 1234abcd 123abc123 111222333 111222tianya 5201314520 woaini1314
woaini520 woaini521 iloveyou iloveyou1 iloveyou2 iloveyou3 iloveyou12 iloveyou! iloveyou123 ilovegod ilovehim ilovejesus iloveme1 iloveme2
ilovemyself ilovemom loveyou1 lovelove loveme123 lovelife lovely12 loverboy lovergirl iloveu123 teamo123 tequiero teiubesc
sunshine sunshine1 sunflower princess princess1 princess12 princesa1 football football1 football12 football123 baseball baseball1 baseball12
basketball basketball1 softball1 volleyball hockey123 soccer12 soccer123 liverpool liverpool1 chelsea1 chelsea123 arsenal1 arsenal123
manchester manutd123 juventus barcelona barcelona1 realmadrid realmadrid1 messi123 ronaldo7 ronaldo123 cristiano yankees1 cowboys1 steelers
steelers1 lakers24 michael1 michael123 michelle michelle1 jennifer jennifer1 jessica1 jessica123 jordan23 jordan123 jonathan jonathan1
alexander alexander1 alexandra alexandru alejandra alejandro charlie1 charlie123 daniel123 danielle danielle1 anthony1 anthony123
william1 william123 nicholas nicholas1 christian christian1 christopher christine christina elizabeth elizabeth1 stephanie stephanie1
samantha samantha1 gabriel1 gabriela gabriella francisco francesca fernando fernanda sebastian sebastian1 benjamin benjamin1 brandon1
brittany brittany1 caroline catherine charlotte veronica victoria victoria1 patricia patrick1 valentina valentin valeria1 vanessa1
matthew1 madison1 mercedes mercedes1 margarita mariana1 marie123 marlboro marlboro1 melissa1 nathalie natalie1 rebecca1 richard1 robert123
rodrigo1 santiago scorpion scorpio1 spiderman spiderman1 starwars starwars1 startrek startrek1 superstar superstar1 batman123 ironman1
pokemon1 pokemon12 pokemon123 naruto123 minecraft minecraft1 warcraft starcraft counterstrike playstation nintendo nintendo1 xbox3600
butterfly butterfly1 dolphin1 dolphins elephant monkey12 monkey123 dragon12 dragon123 dragonball dragonballz tiger123 panther1 mustang1
corvette corvette1 chevrolet ferrari1 lamborghini porsche1 porsche911 mercedesbenz yamaha123 kawasaki suzuki123 harley123 harleydavidson
chocolate chocolate1 cheesecake strawberry blueberry pineapple watermelon cupcake1 cookie123 cookies1 snickers snickers1 coca-cola cocacola
cocacola1 budweiser heineken guinness vanilla1 peanut123 banana123 cherry123 pumpkin1 midnight midnight1 moonlight starlight summer12
summer123 summer2010 winter123 december december1 november november1 september september1 february saturday thursday wednesday birthday
birthday1 christmas christmas1 halloween valentine forever1 forever21 together eternity destiny1 faithful blessed1 jesus123 jesus777
jesuschrist jesus4ever jesusloves jesusislord godisgood godislove godbless christ123 angel123 angels123 angelica angelina heaven123 hellokitty
hellohello hello123 hello1234 helloworld goodluck lucky123 lucky777 whatever whatever1 whocares nothing1 nopassword something anything
trustno1 trustnoone secret12 secret123 secret1234 mypassword mypassword1 yourpassword newpassword newpassword1 thepassword opensesame
access14 access123 security security1 security123 private1 qwertyu1 shadow123 shadow12 killer123 killer12 hunter12 hunter123 ninja123
maverick maverick1 rockstar rockstar1 metallica metallica1 slipknot slipknot1 greenday greenday1 blink182 eminem123 linkinpark evanescence
rammstein ironmaiden nirvana1 beatles1 pinkfloyd ledzeppelin aerosmith1 america1 american1 australia brazil123 california canada123
colorado florida1 germany1 mexico123 newyork1 newyorkcity chicago1 london123 scotland singapore pakistan pakistan1 pakistan123 india123
indonesia hongkong samsung1 samsung123 motorola blackberry nokia123 microsoft windows1 windows10 google123 google12 facebook facebook1
facebook123 linkedin linkedin1 youtube1 youtube123 twitter1 myspace1 snapchat instagram hotmail1 yahoo123 gmail123 dropbox1 adobe123
photoshop macintosh apple123 android1 firefox1 commander sergeant soldier1 trooper1 airforce airborne marines1 military veteran1 fireman1
firefighter policeman gangster gangster1 gangsta1 babygirl babygirl1 babygirl2 babygirl12 babyboy1 babyface babydoll babyblue sweetheart
sweetness sweetie1 sweetpea sweetpea1 sexygirl beautiful beautiful1 gorgeous handsome1 friends1 friends4ever
friendship bestfriend bestfriends family123 mommy123 daddy123 daddysgirl mother123 father123 brother1 sisters1 grandma1 children girlfriend
boyfriend mylove123 myfamily mybaby123 bigdaddy bigdaddy1 bigboy123 hottie12 hottie123 fuckyou1 fuckyou2 fuckyou123 fuckyou!
fuckoff1 asshole1 asshole123 bullshit bullshit1 biteme123 whatthefuck jackass1 dumbass1
dickhead stupid123 stupid12 idiot123 loser123 freedom1 freedom123 infinity infinity1 champion champion1 winner123 success1 success123
money123 moneyman moneymoney cash4me1 rich1234 million1 dollars1 lottery1 gemini123 taurus123 sagittarius capricorn aquarius patience
kindness wisdom123 courage1 creative awesome1 awesome123 amazing1 fantastic wonderful excellent perfect1 diamond1 diamonds platinum silver123
golden123 purple12 purple123 orange12 orange123 yellow12 yellow123 green123 greenman bluesky1 blue1234 black123 blackcat blackjack blackbird
redskins redsox04 rainbow1 rainbow123 bluebird phoenix1 phoenix123 mountain mountain1 paradise paradise1 universe galaxy123 einstein
leonardo napoleon alexande maxwell1 sherlock jamesbond jamesbond007 godfather godzilla terminator predator gladiator highlander braveheart
matrix123 thematrix gandalf1 lordoftherings harrypotter voldemort twilight twilight1 edward123 vampire1 dracula1 creature poohbear poohbear1
tinkerbell tinkerbell1 mickey123 mickeymouse minniemouse donaldduck bugsbunny snoopy123 garfield garfield1 scooby123 scoobydoo spongebob
spongebob1 simpsons homer123 southpark cartman1 zxasqw12 qwedsazxc poiuytrewq poiuytre lkjhgfdsa lkjhgfds mnbvcxz1 mnbvcxzlkj 0p9o8i7u
!qaz2wsx !qaz@wsx !q2w3e4r qwerty!@# qwe!@#123 1qaz@wsx zaq!2wsx abc@1234 abcd@123 admin@1234 test@123 test@1234 user@123 pass@123
pass@1234 pass@word1 password@1 password@123 welcome@1 welcome@123 india@123 hello@123 qwerty@123 correcthorsebatterystaple
`
    .trim()
    .split(/\s+/)
)

/** Words that make a common password with digits and signs around them. */
export const commonWords: ReadonlySet<string> = new Set(
  `
password passwort passwd pass passphrase contrasena motdepasse senha parola haslo wachtwoord geheim welcome welkom willkommen bienvenue
admin administrator root toor superuser guest user username login test testing tester demo temp default changeme changeit letmein secret
qwerty qwertz azerty qwertyuiop asdf asdfgh asdfghjkl zxcvb zxcvbn zxcvbnm qazwsx abc abcd abcde abcdef hello hi master shadow dragon monkey
iloveyou ilove love lovely sunshine princess football baseball basketball soccer hockey superman batman spiderman pokemon starwars naruto
michael jordan jessica ashley daniel charlie andrew thomas robert summer winter spring autumn monday friday january february march april
june july august september october november december computer internet samsung google facebook apple microsoft windows linux
server database oracle mysql postgres company cisco freedom whatever trustno killer hunter ranger buster tigger ginger pepper cookie
angel flower butterfly chocolate banana orange purple silver diamond mustang ferrari porsche mercedes harley yankees liverpool chelsea arsenal
barcelona juventus reins
`
    .trim()
    .split(/\s+/)
)
